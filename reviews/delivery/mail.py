"""Delivery by e-mail: a summary, with the reports attached, only over an encrypted connection.

Source: RFC 5321 (SMTP), RFC 3207 (STARTTLS), RFC 8314 (TLS from the beginning).
"""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import format_datetime

from ...agents.execution.failures import scrub_text
from ...models.errors import DeliveryFailed
from ...models.review.headline import headline
from ...models.text.ids import utcnow
from ..reports.formats import ReportFile
from .entries import EmailEntry
from .payload import ReportPayload, plain_name, summary_text

#: Maximum bytes of all attachments; further reports are left out, and the text says so.
MAX_ATTACHED_BYTES = 8_388_608
_PORTS = {"starttls": 587, "tls": 465}


def send_mail(entry: EmailEntry, parcel: ReportPayload, *, message_id: str, password: str | None) -> None:
    """Send the message; the server has accepted it when this returns.

    Raises:
        DeliveryFailed: it was not accepted, or not for all recipients; `retryable`: whether a retry may succeed.
    """
    mail = build_mail(entry, parcel, message_id=message_id)
    secrets = [password] if password else []
    try:
        with _connect(entry) as server:
            if entry.username and password:
                server.login(entry.username, password)
            refused = server.send_message(mail)
    except smtplib.SMTPRecipientsRefused as error:
        is_for_now = all(400 <= code < 500 for code, _ in error.recipients.values())
        raise _refusal(entry, len(error.recipients), retryable=is_for_now) from None
    except smtplib.SMTPResponseException as error:
        text = scrub_text(_text(error.smtp_error), secrets=secrets)
        # 4yz is transient, 5yz permanent (RFC 5321, 4.2.1).
        raise DeliveryFailed(
            f"{entry.host} answered SMTP {error.smtp_code}: {text}", retryable=400 <= error.smtp_code < 500
        ) from None
    except smtplib.SMTPNotSupportedError as error:
        raise DeliveryFailed(
            f"{entry.host} does not support a required SMTP extension: {error}", retryable=False
        ) from None
    except ssl.SSLCertVerificationError as error:
        raise DeliveryFailed(
            f"TLS certificate of {entry.host} is not trusted: {error.verify_message}", retryable=False
        ) from None
    except (OSError, smtplib.SMTPException) as error:
        text = scrub_text(str(error), secrets=secrets) or type(error).__name__
        raise DeliveryFailed(f"{entry.host} does not answer: {text}") from None
    if refused:  # the others have it, and would have it twice
        raise _refusal(entry, len(refused), retryable=False)


def build_mail(entry: EmailEntry, parcel: ReportPayload, *, message_id: str) -> EmailMessage:
    """Return the message."""
    mail = EmailMessage()
    mail["Subject"] = headline(parcel.run)[:200]
    mail["From"] = entry.sender
    mail["To"] = ", ".join(entry.to)
    mail["Date"] = format_datetime(utcnow())
    mail["Message-ID"] = f"<{message_id}@{entry.sender.rpartition('@')[2]}>"
    # Against automatic replies (RFC 3834).
    mail["Auto-Submitted"] = "auto-generated"
    kept, left_out = _split_by_size(parcel.reports)
    text = summary_text(parcel.run)
    if left_out:
        text += f"\nToo large to attach: {', '.join(left_out)}\n"
    mail.set_content(text)
    for report in kept:
        kind, _, subkind = report.media_type.partition("/")
        data, name = report.text.encode(), plain_name(report.name)
        mail.add_attachment(data, maintype=kind, subtype=subkind, filename=name)
    return mail


def _split_by_size(reports: Sequence[ReportFile]) -> tuple[list[ReportFile], list[str]]:
    """Return the reports that fit, and the names of the rest."""
    left, kept, left_out = MAX_ATTACHED_BYTES, list[ReportFile](), list[str]()
    for report in reports:
        size = len(report.text.encode())
        if size <= left:
            left -= size
            kept.append(report)
        else:
            left_out.append(plain_name(report.name))
    return kept, left_out


def _connect(entry: EmailEntry) -> smtplib.SMTP:
    """Return an encrypted connection. Raises OSError, SMTPException."""
    context = ssl.create_default_context(cafile=entry.ca_file)
    port = entry.port or _PORTS[entry.security]
    if entry.security == "tls":
        return smtplib.SMTP_SSL(entry.host, port, timeout=entry.timeout_s, context=context)
    server = smtplib.SMTP(entry.host, port, timeout=entry.timeout_s)
    try:
        server.starttls(context=context)
    except BaseException:
        server.close()
        raise
    return server


def _refusal(entry: EmailEntry, number: int, *, retryable: bool) -> DeliveryFailed:
    """Return the error without the names of recipients, because its message may be read by others."""
    return DeliveryFailed(f"{entry.host} refused {number} of the recipients", retryable=retryable)


def _text(answer: bytes | str) -> str:
    return answer.decode(errors="replace") if isinstance(answer, bytes) else answer

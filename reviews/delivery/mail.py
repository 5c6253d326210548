"""Delivers by e-mail: a summary, with the reports attached, over a connection that is encrypted or not made.

Source: RFC 5321 (SMTP), RFC 3207 (STARTTLS), RFC 8314 (TLS from the beginning).
"""

from __future__ import annotations

import smtplib
import ssl
from collections.abc import Sequence
from email.message import EmailMessage
from email.utils import format_datetime

from ...agents.failures import scrubbed
from ...models.errors import DeliveryFailed
from ...models.ids import utcnow
from ...models.review.headline import headline
from ..reports.formats import ReportFile
from .entries import EmailEntry
from .parcel import Parcel, plain_name, summary

#: Bytes of all that is attached; what is more is left out, and the text says so.
MAX_ATTACHED_BYTES = 8_388_608
_PORTS = {"starttls": 587, "tls": 465}


def send(entry: EmailEntry, parcel: Parcel, *, message_id: str, password: str | None) -> None:
    """Sends it; the server has it once this returns.

    Raises:
        DeliveryFailed: it has it not, or would not give it to all; `retryable` says whether another try may help.
    """
    mail = written(entry, parcel, message_id=message_id)
    secrets = [password] if password else []
    try:
        with _connected(entry) as server:
            if entry.username and password:
                server.login(entry.username, password)
            refused = server.send_message(mail)
    except smtplib.SMTPRecipientsRefused as error:
        is_for_now = all(400 <= code < 500 for code, _ in error.recipients.values())
        raise _refused(entry, len(error.recipients), retryable=is_for_now) from None
    except smtplib.SMTPResponseException as error:
        text = scrubbed(_text(error.smtp_error), secrets=secrets)
        # 4yz is for now, 5yz for good (RFC 5321, 4.2.1).
        raise DeliveryFailed(
            f"{entry.host} answers {error.smtp_code}: {text}", retryable=400 <= error.smtp_code < 500
        ) from None
    except smtplib.SMTPNotSupportedError as error:
        raise DeliveryFailed(f"{entry.host} cannot be used: {error}", retryable=False) from None
    except ssl.SSLCertVerificationError as error:
        raise DeliveryFailed(
            f"{entry.host} is not trusted: {error.verify_message}", retryable=False
        ) from None
    except (OSError, smtplib.SMTPException) as error:
        text = scrubbed(str(error), secrets=secrets) or type(error).__name__
        raise DeliveryFailed(f"{entry.host} does not answer: {text}") from None
    if refused:  # the others have it, and would have it twice
        raise _refused(entry, len(refused), retryable=False)


def written(entry: EmailEntry, parcel: Parcel, *, message_id: str) -> EmailMessage:
    """The message."""
    mail = EmailMessage()
    mail["Subject"] = headline(parcel.run)[:200]
    mail["From"] = entry.sender
    mail["To"] = ", ".join(entry.to)
    mail["Date"] = format_datetime(utcnow())
    mail["Message-ID"] = f"<{message_id}@{entry.sender.rpartition('@')[2]}>"
    # So that nobody's holiday answers (RFC 3834).
    mail["Auto-Submitted"] = "auto-generated"
    kept, left_out = _fitting(parcel.reports)
    text = summary(parcel.run)
    if left_out:
        text += f"\nToo large to be attached: {', '.join(left_out)}\n"
    mail.set_content(text)
    for report in kept:
        kind, _, subkind = report.media_type.partition("/")
        data, name = report.text.encode(), plain_name(report.name)
        mail.add_attachment(data, maintype=kind, subtype=subkind, filename=name)
    return mail


def _fitting(reports: Sequence[ReportFile]) -> tuple[list[ReportFile], list[str]]:
    """What there is room for, and the names of the rest."""
    left, kept, left_out = MAX_ATTACHED_BYTES, list[ReportFile](), list[str]()
    for report in reports:
        size = len(report.text.encode())
        if size <= left:
            left -= size
            kept.append(report)
        else:
            left_out.append(plain_name(report.name))
    return kept, left_out


def _connected(entry: EmailEntry) -> smtplib.SMTP:
    """A connection that is encrypted. Raises OSError, SMTPException."""
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


def _refused(entry: EmailEntry, number: int, *, retryable: bool) -> DeliveryFailed:
    """Names nobody: a message about it may be read by others."""
    return DeliveryFailed(f"{entry.host} refuses {number} of the addresses", retryable=retryable)


def _text(answer: bytes | str) -> str:
    return answer.decode(errors="replace") if isinstance(answer, bytes) else answer

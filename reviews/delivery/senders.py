"""Senders of reports: to a folder, by e-mail, to a webhook.

E-mail is sent over an encrypted connection only (RFC 5321, RFC 3207, RFC 8314); a webhook call is signed by
the rules of Standard Webhooks.
"""

from __future__ import annotations

import shutil
import time
from collections.abc import Iterator, Mapping, Sequence
from contextlib import contextmanager
from email.message import EmailMessage
from email.utils import format_datetime
from pathlib import Path

from ...agents.remote.http_call import HttpTarget
from ...agents.remote.mail_call import MailServer, send_message
from ...agents.remote.webhook import post_webhook, signed_headers
from ...models.errors import AgentError, DeliveryFailed
from ...models.text.ids import new_id, utcnow
from ..reports.formats import ReportFile
from ..values.runs import headline
from .deliveries_file import EmailEntry, FolderEntry, WebhookEntry
from .payload import ReportPayload, plain_name, summary_json, summary_text

_TEMP_PREFIX = ".begun-"
#: Seconds after which a temporary file is abandoned.
_ABANDONED_S = 3_600


def write_to_folder(entry: FolderEntry, payload: ReportPayload) -> Path:
    """Write the reports, a summary, and the run as JSON; do not change an existing run. Raises DeliveryFailed."""
    run, retry = payload.run, f"-retry-{payload.retry}" if payload.retry else ""
    series = f"{plain_name(run.root_name)}-{plain_name(run.panel)}"
    target = entry.folder / series / f"{run.started_at:%Y%m%dT%H%M%SZ}-{run.id[:8]}{retry}"
    try:
        target.parent.mkdir(parents=True, exist_ok=True)
        if not target.is_dir():
            _write_whole(target, payload)
        _delete_old(target.parent, keep=entry.keep)
    except OSError as error:
        raise DeliveryFailed(f"writing to {entry.folder} failed: {error.strerror}") from None
    return target


def _write_whole(target: Path, payload: ReportPayload) -> None:
    """Write to a temporary folder and rename it, so that readers never see a part of it. Raises OSError."""
    begun = target.with_name(f"{_TEMP_PREFIX}{new_id()}")
    begun.mkdir()
    try:
        (begun / "run.json").write_bytes(summary_json(payload.run))
        (begun / "summary.txt").write_text(summary_text(payload.run), encoding="utf-8")
        for report in payload.reports:
            (begun / plain_name(report.name)).write_text(report.text, encoding="utf-8")
        try:
            begun.rename(target)
        except OSError:
            if not target.is_dir():  # otherwise another worker has written the same run
                raise
    finally:
        shutil.rmtree(begun, ignore_errors=True)


def _delete_old(folder: Path, *, keep: int) -> None:
    """Delete all but the newest `keep` runs (their names begin with the time), and files of lost workers."""
    folders = sorted(path for path in folder.iterdir() if path.is_dir())
    begun = [path for path in folders if path.name.startswith(_TEMP_PREFIX)]
    left_behind = [path for path in begun if path.stat().st_mtime < time.time() - _ABANDONED_S]
    for old in (*[path for path in folders if path not in begun][:-keep], *left_behind):
        shutil.rmtree(old, ignore_errors=True)


#: Maximum bytes of all attachments; further reports are left out, and the text says so.
MAX_ATTACHED_BYTES = 8_388_608


def send_mail(entry: EmailEntry, payload: ReportPayload, *, message_id: str, password: str | None) -> None:
    """Send the message; return when the server has accepted it. Raises DeliveryFailed."""
    server = MailServer(
        host=entry.host,
        port=entry.port,
        security=entry.security,
        username=entry.username,
        password=password,
        ca_file=entry.ca_file,
        timeout_s=entry.timeout_s,
    )
    with _delivering():
        send_message(server, build_mail(entry, payload, message_id=message_id))


def build_mail(entry: EmailEntry, payload: ReportPayload, *, message_id: str) -> EmailMessage:
    """Build the message."""
    mail = EmailMessage()
    mail["Subject"] = headline(payload.run)[:200]
    mail["From"] = entry.sender
    mail["To"] = ", ".join(entry.to)
    mail["Date"] = format_datetime(utcnow())
    mail["Message-ID"] = f"<{message_id}@{entry.sender.rpartition('@')[2]}>"
    # Prevents automatic replies (RFC 3834).
    mail["Auto-Submitted"] = "auto-generated"
    kept, left_out = _split_by_size(payload.reports)
    text = summary_text(payload.run)
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


def send_webhook(entry: WebhookEntry, payload: ReportPayload, *, message_id: str, secret: str) -> None:
    """Post the run, signed with `secret`; `message_id` is the same in every attempt. Raises DeliveryFailed."""
    body = summary_json(payload.run)
    headers = signed_headers(secret, message_id, body, now_s=int(time.time()))
    post(HttpTarget(entry.url, entry.timeout_s, entry.networks), body, headers)


def post(target: HttpTarget, body: bytes, headers: Mapping[str, str]) -> None:
    """Post a message. Raises DeliveryFailed."""
    with _delivering():
        post_webhook(target, body, headers)


@contextmanager
def _delivering() -> Iterator[None]:
    try:
        yield
    except AgentError as error:
        raise DeliveryFailed(
            str(error), retryable=error.retryable, retry_after_s=error.retry_after_s
        ) from None

"""Delivery to an incoming webhook of Slack or Mattermost: the summary of a run as one block of code.

Both programs show code as it is: nothing in it becomes a mention, a link, an image or a format. Slack reads `<!...>`
as a mention even there, so the three characters that it asks to escape are escaped.

Source: https://docs.slack.dev/messaging/formatting-message-text.
"""

from __future__ import annotations

import json
from urllib.parse import urlsplit

from ...agents.remote.http_call import HttpTarget
from ...agents.remote.webhook import post_webhook
from ...models.errors import AgentError, DeliveryFailed
from ...models.text.redact import excerpt
from .deliveries_file import SlackEntry
from .payload import ReportPayload, summary_text

#: Maximum characters of a line and of a message; Slack cuts after 40,000, and people stop reading before.
_MAX_LINE, _MAX_CHARS = 300, 3_500
_FENCE = "```"


def send_to_chat(entry: SlackEntry, report_payload: ReportPayload, *, url: str) -> None:
    """Post the summary; return when the program has accepted it.

    Raises:
        DeliveryFailed: It has not been accepted; `retryable`: whether a retry may succeed.
    """
    if not _has_host(url, entry.host):
        raise DeliveryFailed(
            f"environment variable {entry.url_env} must hold a URL of {entry.host}", retryable=False
        )
    body = json.dumps({"text": chat_text(report_payload, app=entry.app)}).encode()
    try:
        post_webhook(HttpTarget(url, entry.timeout_s, entry.networks), body, {})
    except AgentError as error:
        raise DeliveryFailed(
            str(error), retryable=error.retryable, retry_after_s=error.retry_after_s
        ) from None


def chat_text(report_payload: ReportPayload, *, app: str) -> str:
    """Return the text of the message."""
    room, kept = _MAX_CHARS, list[str]()
    for line in summary_text(report_payload.run).replace("`", "'").rstrip().split("\n"):
        text = excerpt(line, _MAX_LINE)
        room -= len(text) + 1
        if room < 0:
            kept.append("…")
            break
        kept.append(text)
    text = "\n".join(kept)
    if app == "slack":
        text = text.replace("&", "&amp;").replace("<", "&lt;").replace(">", "&gt;")
    return f"{_FENCE}\n{text}\n{_FENCE}"


def _has_host(url: str, host: str) -> bool:
    """Return whether a URL is one of the host, in the characters that a request may have."""
    try:
        parts = urlsplit(url)
        return (
            url.isascii()
            and url.isprintable()
            and " " not in url
            and parts.scheme in ("http", "https")
            and (parts.hostname or "").casefold() == host.casefold()
            and (parts.port or 0) >= 0
        )
    except ValueError:
        return False

"""Messages to an incoming webhook of a chat: blocks for Slack, a block of code for Mattermost.

Slack shows the text of a run as it is, because that text is in plain text and rich text elements only: nothing in it becomes
a mention, a link, an emoji or a format. Mattermost shows code as it is.

Source: https://docs.slack.dev/reference/block-kit/blocks, https://docs.slack.dev/messaging/formatting-message-text.
"""

from __future__ import annotations

import json
from collections.abc import Iterator
from html import escape
from typing import Any
from urllib.parse import urlsplit

from ...agents.remote.http_call import HttpTarget
from ...models.errors import DeliveryFailed
from ...models.text.redact import excerpt
from ..reports.report_model import inline_parts, line_link_of
from ..values.code_links import pull_link
from ..values.findings import Finding, count_by_severity
from ..values.runs import headline
from .deliveries_file import SlackEntry
from .payload import MAX_LISTED_FINDINGS, ReportPayload, by_weight, failed_text, summary_text, take_fitting
from .senders import post

#: Maximum characters of a header, and of the text of any other block; Slack takes 150 and 3,000.
MAX_HEADER, MAX_BLOCK_TEXT = 150, 3_000
#: Maximum characters of a line.
_MAX_LINE = 300
_FENCE = "```"


def send_to_chat(entry: SlackEntry, payload: ReportPayload, *, url: str) -> None:
    """Post the message. Raises DeliveryFailed."""
    if not _has_host(url, entry.host):
        raise DeliveryFailed(
            f"environment variable {entry.url_env} must hold a URL of {entry.host}", retryable=False
        )
    is_slack = entry.app == "slack"
    message = (
        slack_message(payload, flower_url=entry.flower_url) if is_slack else {"text": chat_text(payload)}
    )
    post(HttpTarget(url, entry.timeout_s, entry.networks), json.dumps(message).encode(), {})


def slack_message(payload: ReportPayload, *, flower_url: str | None = None) -> dict[str, Any]:
    """Return the message: headline, counts, links, the most severe findings; `flower_url`: address of Flower."""
    run = payload.run
    title = headline(run)
    blocks: list[dict[str, Any]] = [{"type": "header", "text": _plain(title, MAX_HEADER)}]
    counts = count_by_severity(run.open_findings)
    if counts:
        fields = [_plain(f"{severity}: {count:,}") for severity, count in counts.items()]
        blocks.append({"type": "section", "fields": fields})
    if links := " | ".join(
        f"<{escape(link, quote=False)}|{name}>" for name, link in _links(payload, flower_url)
    ):
        blocks.append({"type": "section", "text": {"type": "mrkdwn", "text": links}})
    items, left_out = _list_findings(payload)
    if items:
        findings = {"type": "rich_text_list", "style": "bullet", "elements": items}
        blocks.append({"type": "rich_text", "elements": [findings]})
    notes = (f"And {left_out:,} more findings." if left_out else "", run.summary, failed_text(run))
    if note := " ".join(filter(None, map(str.strip, notes))):
        blocks.append({"type": "context", "elements": [_plain(note)]})
    # Shown in notifications, and read as Slack's Markdown.
    return {"text": escape(title, quote=False), "blocks": blocks}


def _plain(text: str, most: int = MAX_BLOCK_TEXT) -> dict[str, Any]:
    return {"type": "plain_text", "text": excerpt(text, most), "emoji": False}


def _links(payload: ReportPayload, flower_url: str | None) -> Iterator[tuple[str, str]]:
    """Yield names and addresses of the pages about the run."""
    if flower_url is not None:
        page = f"{flower_url.rstrip('/')}/reviews/{payload.run.id}"
        yield from (("Review in Flower", page), ("Report", f"{page}/report"))
    if (pull := payload.pull_request) is not None:
        link = pull_link(payload.run.repository_url, pull.number)
        if link:
            yield f"Pull request {pull.number}", link


def _list_findings(payload: ReportPayload) -> tuple[list[dict[str, Any]], int]:
    """Return the most severe findings that fit as items of a list, and the number of the others."""
    ordered = by_weight(payload.run.open_findings)
    lines = [list(_elements(payload, finding)) for finding in ordered[:MAX_LISTED_FINDINGS]]
    kept = take_fitting(
        lines, MAX_BLOCK_TEXT, lambda elements: sum(len(element["text"]) for element in elements)
    )
    items = [{"type": "rich_text_section", "elements": elements} for elements in kept]
    return items, len(ordered) - len(items)


def _elements(payload: ReportPayload, finding: Finding) -> Iterator[dict[str, Any]]:
    place, link = excerpt(finding.place, _MAX_LINE), line_link_of(payload.run, finding)
    yield {"type": "text", "text": finding.severity.value, "style": {"bold": True}}
    yield {"type": "text", "text": " "}
    yield {"type": "link", "url": link, "text": place} if link else _text(place, is_code=True)
    yield {"type": "text", "text": " "}
    yield _text(excerpt(finding.rule, _MAX_LINE), is_code=True)
    yield {"type": "text", "text": ": "}
    for part in inline_parts(excerpt(finding.message, _MAX_LINE)):
        yield _text(part.text, is_code=part.is_code)
    if finding.status is not None:
        yield {"type": "text", "text": f" ({finding.status.value})"}


def _text(text: str, *, is_code: bool) -> dict[str, Any]:
    return {"type": "text", "text": text, **({"style": {"code": True}} if is_code else {})}


def chat_text(payload: ReportPayload) -> str:
    """Return the message as a block of code."""
    text = summary_text(payload.run).replace("`", "'").rstrip()
    lines = [excerpt(line, _MAX_LINE) for line in text.split("\n")]
    kept = list(take_fitting(lines, MAX_BLOCK_TEXT, lambda line: len(line) + 1))
    if len(kept) < len(lines):
        kept.append("…")
    return "\n".join((_FENCE, *kept, _FENCE))


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

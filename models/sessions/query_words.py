"""What a query of sessions covers, in words. Pure."""

from __future__ import annotations

from dataclasses import replace

from ..text.durations import read_span
from ..text.words import span_in_words
from .query import SessionQuery
from .shown_status import UNFINISHED, ShownStatus

_UNFINISHED = tuple(status.value for status in ShownStatus if status in UNFINISHED)


def span_words(text: str) -> str:
    """Return an age of a query in words, such as `7 days`; empty for a moment."""
    try:
        return span_in_words(read_span(text))
    except ValueError:
        return ""


def time_in_words(query: SessionQuery) -> str:
    """Return which sessions a query covers by their opening time, such as `opened in the last 7 days`."""
    parts = []
    if query.since:
        parts.append(f"in the last {span}" if (span := span_words(query.since)) else f"since {query.since}")
    if query.until:
        span = span_words(query.until)
        parts.append(f"more than {span} ago" if span else f"before {query.until}")
    return f"opened {' and '.join(parts)}" if parts else "all sessions"


def cost_in_words(query: SessionQuery, *, has_archive: bool) -> str:
    """Return what the costs of groups by agent cover, as the end of a sentence; empty for other queries."""
    if query.group != "agent":
        return ""
    return (
        "; cost of the agents' own turns in the archive" if has_archive else "; cost of agents is not known"
    )


def older_unfinished(query: SessionQuery) -> SessionQuery:
    """Return the query of the sessions that were opened before `since`, have not ended and fit the other filters."""
    return replace(query, since="", until=query.since, status=_UNFINISHED, attention=(), group="", page=1)

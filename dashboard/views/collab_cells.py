"""Texts of one row of the list of sessions: the first and the second line of each column. Pure.

A time is an element whose text the page updates as time passes; without a script it shows the time in UTC.
"""

from __future__ import annotations

from dataclasses import dataclass
from datetime import UTC, datetime
from typing import Literal

from ...models.sessions.progress import LimitUse, describe_limit
from ...models.text.words import count_of, dollars, short_duration
from .collab_row import CollabRow, RowLimit
from .visible import escape_visible

#: How a page writes a time: its age, the span since, the time of day with seconds or without, date and time, and these
#: with the span until then.
TimeForm = Literal["ago", "for", "clock", "minute", "moment", "due"]
#: Maximum number of speakers whose names are shown.
MAX_NAMES = 3
#: Characters of an id that the list shows.
SHORT_ID = 8
#: What a column without a value shows.
NONE = "\N{EN DASH}"
#: Part of a limit from which it is shown as near.
NEAR = 0.9
#: Attention -> badge, its class, and the class of the row's edge.
ATTENTION_BADGES = {
    "person": ("needs answer", "waiting", "mark-warn"),
    "retry": ("retries", "retry", "mark-warn"),
    "budget": ("waits: budget", "waiting", "mark-warn"),
    "stuck": ("stuck", "lost", "mark-bad"),
    "lost": ("worker lost", "lost", "mark-bad"),
    "worker": ("no worker", "", "mark-bad"),
    "unreadable": ("unreadable", "failed", "mark-bad"),
}


@dataclass(frozen=True, slots=True)
class Cells:
    """Texts of a row. Fields with `_html` hold elements for times."""

    title: str
    #: Id, mode and tenant.
    about: str
    badge: str
    badge_class: str
    #: Class of the row's edge; empty: none.
    mark: str
    status_html: str
    why: str
    next_html: str
    is_error: bool
    progress: str
    #: The limit that is reached first, and how much of it is used; None: there is no limit.
    total: float | None
    value: float
    progress_class: str
    ends_html: str
    now: str
    now_more: str
    cost: str
    tokens: str
    activity_html: str
    duration_html: str


def time_html(at_ms: int, form: TimeForm) -> str:
    """Return an element with a time, in milliseconds since the epoch."""
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    shown = f"{at:%Y-%m-%d %H:%M}" if form in ("moment", "due") else f"{at:%H:%M:%S}"
    return f'<time datetime="{at:%Y-%m-%dT%H:%M:%S.%f}Z" data-as="{form}">{shown} UTC</time>'


def cost_text(micros: int) -> str:
    """Return a cost in US dollars from millionths; a dash: none."""
    return dollars(micros) if micros else NONE


def cells_of(row: CollabRow) -> Cells:
    """Return the texts of a row."""
    badge, badge_class, mark = _badge(row)
    limit = row["first_limit"]
    return Cells(
        title=row["title"].strip() or row["id"],
        about=" · ".join(filter(None, (row["id"][:SHORT_ID], row["mode"].replace("_", " "), row["tenant"]))),
        badge=badge,
        badge_class=badge_class,
        mark=mark,
        status_html=_status_html(row),
        why=_why(row),
        next_html=_next_html(row),
        is_error=row["shown"] == "failed" or row["attention"] in ("retry", "unreadable"),
        progress=_progress(row),
        total=limit["limit"] if limit else None,
        value=min(limit["used"], limit["limit"]) if limit else 0,
        progress_class=progress_class(row, limit),
        ends_html=f" · ends ~{time_html(row['ends_about_ms'], 'minute')}" if row["ends_about_ms"] else "",
        now=_now(row),
        now_more=_now_more(row),
        cost=cost_text(row["cost_micros"]),
        tokens=f"{row['tokens']:,}",
        activity_html=time_html(row["updated_ms"], "ago"),
        duration_html=_duration_html(row),
    )


def _badge(row: CollabRow) -> tuple[str, str, str]:
    """Return the badge, its class, and the class of the row's edge."""
    if row["attention"] in ATTENTION_BADGES:
        return ATTENTION_BADGES[row["attention"]]
    status = row["shown"]
    return status, status, "mark-bad" if status == "failed" else ""


def _status_html(row: CollabRow) -> str:
    """Return since when the session is in its state, or why it ended."""
    ended_ms = row["ended_ms"]
    if ended_ms is not None and row["shown"] == "failed":
        return time_html(ended_ms, "clock")
    if ended_ms is not None:
        # The reason of a cancelled session is a sentence of a person.
        is_cancelled = row["shown"] == "cancelled"
        return _by_html(row) if is_cancelled else escape_visible(_words(row["reason"]))
    if row["shown"] == "suspended":
        return _by_html(row)
    if row["attention"] is not None:
        since_ms = row["attention_since_ms"]
        return f"since {time_html(since_ms, 'clock')}" if since_ms else ""
    times = [speaker["since_ms"] for speaker in row["speakers"] if speaker["since_ms"]]
    if not times:
        return ""
    return f"{'queued' if _states(row) == {'planned'} else 'speaks for'} {time_html(min(times), 'for')}"


def _by_html(row: CollabRow) -> str:
    """Return who suspended or cancelled the session."""
    return f"by {escape_visible(row['actor'])}" if row["actor"] else ""


def _states(row: CollabRow) -> set[str]:
    return {speaker["state"] for speaker in row["speakers"]}


def _words(code: str | None) -> str:
    return (code or "").replace("_", " ").replace("+", " and ")


def _why(row: CollabRow) -> str:
    """Return why the session does not move, failed, or was ended."""
    error, detail = row["error"], row["detail"] or ""
    match row["shown"]:
        case "failed":
            if error is None:
                return detail or _words(row["reason"])
            who = f"turn {error['turn']}, {error['participant']}: " if error["turn"] else ""
            return who + error["text"]
        case "limit":
            return f"Stopped by its {_words(row['reason'])}"
        case "cancelled":
            return f"“{row['reason']}”" if row["reason"] not in (None, "cancelled") else detail
        case _:
            return row["attention_text"] or ""


def _next_html(row: CollabRow) -> str:
    """Return what happens next."""
    if row["shown"] == "limit":
        return "continue with a larger one"
    if row["attention"] is None:
        return ""
    due_ms = row["attention_due_ms"]
    words = escape_visible(row["attention_next"] or ("tried again" if due_ms else ""))
    return " ".join(filter(None, (words, time_html(due_ms, "moment") if due_ms else "")))


def _progress(row: CollabRow) -> str:
    rounds = count_of(row["rounds"], "round", spec=",")
    if (limit := row["first_limit"]) is None:
        return rounds if row["ended_ms"] else f"{rounds}, no limit of rounds"
    text = describe_limit(LimitUse(**limit))
    return text if limit["unit"] in ("rounds", "turns", "items") else f"{text} · {rounds}"


def progress_class(row: CollabRow, limit: RowLimit | None) -> str:
    """Return the class of the element that shows how much of a limit of the row's session is used."""
    if row["shown"] == "completed":
        return "done"
    is_amount = limit is not None and limit["unit"] in ("tokens", "cost_micros", "seconds")
    return "near" if is_amount and limit is not None and limit["used"] >= NEAR * limit["limit"] else ""


def _now(row: CollabRow) -> str:
    """Return who speaks, or is next."""
    if row["shown"] not in ("active", "suspended"):
        return NONE
    names = [speaker["name"] for speaker in row["speakers"] if speaker["state"] != "parked"]
    return ", ".join(names[:MAX_NAMES]) or "nobody"


def _now_more(row: CollabRow) -> str:
    speakers = [speaker for speaker in row["speakers"] if speaker["state"] != "parked"]
    if len(speakers) > MAX_NAMES:
        return f"and {len(speakers) - MAX_NAMES} more"
    # Without an open turn, the next step is in the queue.
    is_queued = row["shown"] == "active" and row["attention"] is None and _states(row) <= {"planned"}
    return "in the queue" if is_queued else ""


def _duration_html(row: CollabRow) -> str:
    if row["ended_ms"] is not None:
        return f"took {short_duration(row['ended_ms'] - row['opened_ms'])}"
    return f"runs {time_html(row['opened_ms'], 'for')}"

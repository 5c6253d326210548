"""Schedules and their runs as data and as texts. Pure."""

from __future__ import annotations

from collections.abc import Sequence
from datetime import UTC, datetime
from html import escape
from typing import TypedDict
from zoneinfo import ZoneInfo

from ...models.text.ids import ms_from_moment
from ...schedules.schedule import ScheduleRunRecord
from ...schedules.schedules import ScheduleEntry
from .collab_cells import TimeForm

#: Maximum number of schedules, and of runs, per page.
MAX_SCHEDULES, MAX_RUNS = 200, 200


class RunRow(TypedDict):
    """An ended run. Times are in milliseconds since the epoch, costs in millionths of a US dollar."""

    #: Id of the run, which is that of its session or review.
    id: str
    due_ms: int
    by_hand: bool
    outcome: str
    #: 0: it was not started.
    started_ms: int
    ended_ms: int
    tokens: int
    cost_micros: int
    detail: str


class ScheduleRow(TypedDict):
    """A schedule."""

    name: str
    #: `review` or `job`.
    kind: str
    #: What is done, in words.
    action: str
    #: When, in words.
    times: str
    zone: str
    paused: bool
    #: Whether it is defined in the file of the settings, whose next change replaces it.
    from_settings: bool
    #: None: it is paused.
    next_ms: int | None
    #: Id of the active run.
    running: str | None
    #: Number of queued runs.
    queued: int
    last: RunRow | None


class SchedulePage(TypedDict):
    """A page of schedules."""

    schedules: list[ScheduleRow]
    #: The `after` of the next page; None: this is the last one.
    next: str | None


class RunPage(TypedDict):
    """A schedule with its newest runs."""

    schedule: ScheduleRow
    runs: list[RunRow]


def build_schedule_page(entries: Sequence[ScheduleEntry], *, limit: int) -> SchedulePage:
    """Return a page of schedules.

    Args:
        entries: The schedules from the start of the page on; one more than `limit` if there is a next page.
        limit: Maximum number of schedules.
    """
    page = [build_schedule(entry) for entry in entries[:limit]]
    return SchedulePage(schedules=page, next=page[-1]["name"] if len(entries) > limit else None)


def build_schedule(entry: ScheduleEntry) -> ScheduleRow:
    """Return the row of a schedule."""
    schedule = entry.schedule
    return ScheduleRow(
        name=schedule.name,
        kind=schedule.kind,
        action=schedule.description,
        times=str(schedule.when),
        zone=schedule.when.zone,
        paused=entry.paused,
        from_settings=entry.from_settings,
        next_ms=None if entry.next_due is None else ms_from_moment(entry.next_due),
        running=entry.running,
        queued=entry.queued,
        last=None if entry.last is None else build_run(entry.last),
    )


def build_run(record: ScheduleRunRecord) -> RunRow:
    """Return the row of an ended run."""
    return RunRow(
        id=record.id,
        due_ms=record.due_ms,
        by_hand=record.by_hand,
        outcome=record.outcome.value,
        started_ms=record.started_ms,
        ended_ms=record.ended_ms,
        tokens=record.usage.tokens,
        cost_micros=record.usage.cost_micros,
        detail=record.detail,
    )


#: Outcome of a run -> class of its badge; others have none.
OUTCOME_CLASSES = {
    "completed": "completed",
    "findings": "waiting",
    "partial": "waiting",
    "missed": "waiting",
    "failed": "failed",
}


def zoned_time_html(at_ms: int, zone: str, form: TimeForm = "moment") -> str:
    """Return an element with a moment in the zone of a schedule. A page shows that of its reader first.

    Args:
        at_ms: The moment, in milliseconds since the epoch.
        zone: Name of a time zone, such as `Europe/Berlin`.
        form: `moment` or `due`.
    """
    at = datetime.fromtimestamp(at_ms / 1000, UTC)
    there, name = at.astimezone(ZoneInfo(zone)), escape(zone)
    return (
        f'<time datetime="{at:%Y-%m-%dT%H:%M:%S}Z" data-as="{form}" data-zone="{name}">'
        f"{there:%Y-%m-%d %H:%M} {name}</time>"
    )

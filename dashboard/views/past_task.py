"""A Celery task of a session as the events of the session show it, for tasks that Flower does not know."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from dataclasses import dataclass

from pydantic import JsonValue

from ...jobs.collab import CollabJob
from ...tasks.runtime.graph import ADVANCE
from ...tasks.runtime.queues import TURN
from .session.pages import MAX_ENTRIES, EventEntry, read_events
from .session.timeline import Patch, TimelineBuilder, read_change

#: Maximum number of the newest events in which a task is looked for.
MAX_EVENTS = 20_000


@dataclass(frozen=True, slots=True)
class PastTask:
    """A Celery task: the attempt of a turn, or the planning of a step."""

    task_id: str
    session_id: str
    #: The attempt as in the timeline; empty: the task only planned.
    span: Mapping[str, JsonValue]
    #: State of the task in Celery's words, or `PARKED`; empty: unknown.
    state: str
    #: Numbers of the turns that it planned.
    planned: tuple[int, ...] = ()

    @property
    def name(self) -> str:
        """Return the name of the Celery task."""
        return TURN if self.span else ADVANCE

    def text(self, field: str) -> str:
        """Return a field of the attempt as text; empty: it is unknown."""
        value = self.span.get(field)
        return "" if value is None else str(value)

    def milliseconds(self, field: str) -> int | None:
        """Return a time of the attempt in milliseconds since the epoch; None: it is unknown."""
        value = self.span.get(field)
        return value if isinstance(value, int) else None


def read_past_task(job: CollabJob, task_id: str) -> PastTask | None:
    """Return a task of a session; None: the newest `MAX_EVENTS` events do not name it.

    Args:
        job: The session, live or archived.
        task_id: The id of the Celery task; that of the first one is the session's id.
    """
    builder, span = TimelineBuilder(), None
    for entry in _newest_events(job):
        change = read_change(entry.entry_id, entry.event)
        builder.take(change)
        # The end of an attempt is newer than its beginning, and the turns that it planned are newer, too.
        if change.span is not None and change.span.get("task_id") == task_id:
            span = builder.spans[str(change.span["key"])]
            break
    children = {
        turn: None for it in builder.spans.values() if it.get("parent_id") == task_id for turn in [it["turn"]]
    }
    planned = tuple(sorted(turn for turn in children if isinstance(turn, int)))
    if span is None:
        is_task = bool(planned) or task_id == job.id
        return (
            PastTask(task_id, job.id, {}, "SUCCESS" if planned else "", planned=planned) if is_task else None
        )
    return PastTask(task_id, job.id, span, _state_of(span, builder), planned)


def _newest_events(job: CollabJob) -> Iterator[EventEntry]:
    before: str | None = None
    for _ in range(MAX_EVENTS // MAX_ENTRIES):
        page = read_events(job, before=before, count=MAX_ENTRIES)
        yield from page.entries
        before = page.before
        if before is None:
            return


def _state_of(span: Patch, builder: TimelineBuilder) -> str:
    if "ended_ms" not in span:
        turn = span.get("turn")
        waits = builder.waits.get(turn, set()) if isinstance(turn, int) else set()
        return "PARKED" if waits and max(waits)[1] else "STARTED"
    if span.get("retried"):
        return "RETRY"
    return "FAILURE" if span.get("error") else "SUCCESS"

"""Usage and turns of each participant, from the events, in steps of bounded cost.

A session counts its usage only as a whole; what each participant spent is in the events. So a process remembers
its sums with the position up to which it has read, and each request reads a bounded number of events further.
"""

from __future__ import annotations

from collections import OrderedDict
from dataclasses import dataclass, field
from itertools import islice
from threading import Lock
from typing import TypeVar

from pydantic import BaseModel

from ....jobs.collab import CollabJob
from ....jobs.reading import streams_of
from ....models.protocol.base import Event
from ....models.protocol.events import MapEvent, MAPEventType
from ....models.sessions.limits import usage_by_participant
from ....models.turns.turn import Usage
from ....state.redis.readers import Stream, read_stored
from ....tasks.sessions.task_tree import GrantEnd

#: Maximum number of entries of each stream that one request reads.
MAX_READ = 1_000
#: Sessions whose sums a process remembers.
_MAX_SESSIONS = 500

M = TypeVar("M", bound=BaseModel)


@dataclass(slots=True)
class ParticipantTotals:
    """Sums of one participant."""

    usage: Usage = field(default_factory=Usage)
    #: Closed turns, with passed and skipped ones.
    turns: int = 0
    #: Attempts that failed or were lost.
    failed: int = 0


@dataclass(slots=True)
class SessionTotals:
    """Sums of a session so far."""

    participants: dict[str, ParticipantTotals] = field(default_factory=dict)
    #: Whether all events are counted; False: a later request counts more of them.
    is_complete: bool = False
    #: Position in each stream.
    after: dict[Stream, str] = field(default_factory=lambda: {"events": "0", "journal": "0"})
    lock: Lock = field(default_factory=Lock)

    def add(self, events: list[MapEvent], journal: list[Event]) -> None:
        """Add further events: all of them, or none if one of them is not valid."""
        usages = usage_by_participant(events, journal)
        ends = [
            GrantEnd.from_event(event) for event in events if event.event_type is MAPEventType.TURN_COMPLETED
        ]
        for name, usage in usages.items():
            self._of(name).usage += usage
        for end in ends:
            self._of(end.participant).turns += end.is_final
            self._of(end.participant).failed += end.outcome.is_lost

    def _of(self, name: str) -> ParticipantTotals:
        return self.participants.setdefault(name, ParticipantTotals())


class UsageTotals:
    """Sums of the sessions that this process shows. Methods may be called from any thread."""

    def __init__(self) -> None:
        self._lock = Lock()
        #: By session and opening time, because an id may be used again; the last used is the last.
        self._sessions: OrderedDict[tuple[str, int, bool], SessionTotals] = OrderedDict()

    def read(self, job: CollabJob, *, opened_ms: int) -> SessionTotals:
        """Return the sums of a session, after reading up to `MAX_READ` further entries of each stream.

        Args:
            job: The session.
            opened_ms: When it was opened, in milliseconds since the epoch.
        """
        with self._lock:
            key = job.id, opened_ms, job.is_live
            totals = self._sessions.setdefault(key, SessionTotals())
            self._sessions.move_to_end(key)
            if len(self._sessions) > _MAX_SESSIONS:
                self._sessions.popitem(last=False)
        with totals.lock:
            events, events_end = _read(job, totals, "events", MapEvent)
            journal, journal_end = _read(job, totals, "journal", Event)
            totals.add(events, journal)
            # Stored after both reads and the sums: a read that fails is repeated, and its entries count once.
            totals.after = {"events": events_end, "journal": journal_end}
            totals.is_complete = max(len(events), len(journal)) < MAX_READ
            return totals


def _read(job: CollabJob, totals: SessionTotals, stream: Stream, kind: type[M]) -> tuple[list[M], str]:
    """Return further entries of a stream, and the position of the last one."""
    after = totals.after[stream]
    entries = list(islice(streams_of(job).all(job.id, stream, after=after), MAX_READ))
    records = [read_stored(kind, text, session_id=job.id, part=stream) for _, text in entries]
    return records, entries[-1][0] if entries else after

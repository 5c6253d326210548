"""Seeing to a schedule: what is due is claimed and begun, what has ended is written into its history.

A beat, the sweep or a person sends word; the message is a hint. One worker at a time sees to a
schedule, and looks at all of it: so it does not matter how often word comes, late or twice, nor
which word was lost. What is begun is begun under the occurrence's id, which makes a second
beginning the same as the first.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping
from typing import Protocol

from redis.exceptions import RedisError

from ..models.errors import ScheduleNotFound, ScriptError, SymposiaError
from ..models.ids import moment_from_ms, ms_from_moment, new_id
from ..models.schedules.occurrences import (
    Occurrence,
    Outcome,
    Progress,
    Record,
    occurrence_id,
)
from ..models.schedules.schedule import Missed, Overlap, Schedule
from ..state.schedules import ScheduleBook, ScheduleState

log = logging.getLogger(__name__)

#: How soon what runs is looked at again: a tenth of its age, between these.
_SOONEST_MS, _LATEST_MS = 500, 15_000
#: What must pass before a beginning is tried again, rather than given up.
_PASSES = (ConnectionError, TimeoutError, RedisError, ScriptError)


class Work(Protocol):
    """Something that can be done at set times. Each method may be called again for the same occurrence."""

    def start(self, schedule: Schedule, occurrence: Occurrence) -> None:
        """Begins it under the occurrence's id, unless it was. Raises SymposiaError."""
        ...

    def progress(self, schedule: Schedule, occurrence: Occurrence) -> Progress | None:
        """How far it is; None: nothing is known of it."""
        ...

    def cancel(self, schedule: Schedule, occurrence: Occurrence) -> None:
        """Ends it, if it has not ended."""
        ...


class Keeper:
    """Sees to the schedules of one Redis.

    Args:
        book: the schedules.
        works: what can be done: `review` and `job`.
        grace_ms: how late a word of the beats may come before the sweep sends one itself.
        lease_ms: how long a worker may be silent about a schedule before another takes over.
    """

    def __init__(
        self, book: ScheduleBook, works: Mapping[str, Work], *, grace_ms: int, lease_ms: int
    ) -> None:
        self.book = book
        self._works = works
        self._lease_ms = lease_ms
        self._grace_ms = grace_ms

    def tend(self, name: str) -> None:
        """Does all that is to be done for a schedule now. Raises RedisUnavailable, CorruptSchedule."""
        token = new_id()
        if self.book.take(name, token, lease_ms=self._lease_ms) != "mine":
            return
        look_ms = None
        try:
            look_ms = self._looked_after(name)
            while self.book.release(name, token, look_ms=look_ms) == "again":
                look_ms = self._looked_after(name)
        except ScheduleNotFound:
            return  # removed meanwhile
        except Exception:
            if look_ms is None:  # it is not kept from others until the lease ends
                self.book.release(name, token, look_ms=self.book.now_ms() + self._grace_ms)
            raise

    def _looked_after(self, name: str) -> int:
        """Looks until nothing is to be done; answers when to look again."""
        while True:
            state = self.book.get(name)
            if state.running is not None:
                progress = self._advanced(state.schedule, state.running)
                if progress is not None:
                    self._settle(name, state.running, progress)
                    continue
            if not self._claim_next(state):
                return self._next_look(state)

    # -- what runs ------------------------------------------------------------------------------

    def _advanced(self, schedule: Schedule, running: Occurrence) -> Progress | None:
        """Begins it if that was not done; how it ended, or None while it goes on."""
        work = self._work(schedule, running)
        try:
            progress = work.progress(schedule, running)
            if progress is None and running.started_ms:
                return Progress(Outcome.FAILED, detail="nothing is known of it any more")
            if progress is None:
                work.start(schedule, running)
            if not running.started_ms:
                self.book.started(schedule.name, running.id, kind=schedule.kind)
        except _PASSES:
            raise
        except SymposiaError as error:
            return Progress(Outcome.FAILED, detail=str(error))
        except Exception as error:  # a defect must not keep the times to come waiting
            log.exception("schedule %s: what is due cannot be begun", schedule.name)
            return Progress(Outcome.FAILED, detail=f"a defect: {type(error).__name__}")
        return progress if progress is not None and progress.outcome is not None else None

    def _work(self, schedule: Schedule, running: Occurrence) -> Work:
        """What was begun goes on as what it is, also when the schedule was replaced by another kind."""
        return self._works[running.kind or schedule.kind]

    def _settle(self, name: str, running: Occurrence, progress: Progress) -> None:
        ended_ms = progress.ended_ms or self.book.now_ms()
        record = Record(
            id=running.id,
            due_ms=running.due_ms,
            by_hand=running.by_hand,
            outcome=progress.outcome or Outcome.FAILED,
            # What is short may end before its beginning is noted.
            started_ms=min(running.started_ms or running.claimed_ms, ended_ms),
            ended_ms=ended_ms,
            usage=progress.usage,
            detail=" ".join(progress.detail.split())[:500],
        )
        self.book.settle(name, record)

    def _cancel(self, state: ScheduleState) -> None:
        """Ends the older occurrence for the sake of the newer."""
        schedule, running = state.schedule, state.running
        assert running is not None  # noqa: S101 - `busy` says so
        work = self._work(schedule, running)
        work.cancel(schedule, running)
        last = work.progress(schedule, running) or Progress()
        self._settle(
            schedule.name,
            running,
            Progress(last.outcome or Outcome.CANCELLED, last.usage, last.detail or "a newer one was due"),
        )

    # -- what is due ----------------------------------------------------------------------------

    def _claim_next(self, state: ScheduleState) -> bool:
        """Claims the first time that is due; whether there is more to do now."""
        due = self._due(state)
        if due is None or state.paused:
            return False
        due_ms, overlap = due
        word = self.book.claim(
            state.schedule.name,
            occurrence_id(state.schedule.name, state.origin_ms, due_ms),
            due_ms=due_ms,
            overlap=overlap,
        )
        if word == "busy":
            self._cancel(state)
        return word not in ("paused", "missing")

    @staticmethod
    def _due(state: ScheduleState) -> tuple[int, str] | None:
        """The first time due that is not done with, and what happens if another runs; or `missed`, `overtaken`."""
        schedule, origin = state.schedule, moment_from_ms(state.origin_ms)
        now, last = moment_from_ms(state.now_ms), moment_from_ms(state.last_ms)
        late = moment_from_ms(state.now_ms - schedule.grace_s * 1000)
        if late > last:
            missed = schedule.when.until(late, origin=origin)
            if missed > last:
                # All that were missed go with the latest of them, and nothing is made up for what is due anyway.
                fresh = next(schedule.when.between(missed, now, origin=origin), None)
                makes_up = schedule.missed is Missed.ONCE and fresh is None
                return ms_from_moment(missed), schedule.overlap if makes_up else "missed"
        due = schedule.when.after(last, origin=origin)
        if due > now:
            return None
        # Where the newest counts, nothing is begun only to be cancelled at once.
        is_overtaken = schedule.overlap is Overlap.CANCEL and schedule.when.after(due, origin=origin) <= now
        return ms_from_moment(due), "overtaken" if is_overtaken else schedule.overlap

    def _next_look(self, state: ScheduleState) -> int:
        """When the sweep is to look again, should nobody send word before."""
        due = state.schedule.when.after(moment_from_ms(state.now_ms), origin=moment_from_ms(state.origin_ms))
        look_ms = ms_from_moment(due) + self._grace_ms
        if state.running is not None:
            age_ms = state.now_ms - (state.running.started_ms or state.now_ms)
            look_ms = min(look_ms, state.now_ms + min(max(age_ms // 10, _SOONEST_MS), _LATEST_MS))
        return look_ms

"""Processing of schedules: claims of due times, starts of runs, history of ended runs.

A beat, the sweep or a person sends a message, which is a hint. One worker at a time processes a
schedule, and does all its due work, so messages may arrive often, late, twice or never. The id of a
run is also that of its job, so a second start has no further effect.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Mapping
from contextlib import contextmanager
from threading import Event, Thread
from typing import Protocol

from redis.exceptions import RedisError

from ..models.errors import NewerFormat, ScheduleNotFound, ScriptError, SymposiaError
from ..models.text.ids import moment_from_ms, ms_from_moment, new_id
from .schedule import (
    MissedPolicy,
    OverlapPolicy,
    RunOutcome,
    Schedule,
    ScheduleRun,
    ScheduleRunProgress,
    ScheduleRunRecord,
    schedule_run_id,
)
from .store import ScheduleState, ScheduleStore

log = logging.getLogger(__name__)

#: Limits of the milliseconds between two checks of an active run; the interval is a tenth of its age.
_SOONEST_MS, _LATEST_MS = 500, 15_000
#: Errors after which the start is retried later; after NewerFormat by a newer worker.
TRANSIENT_ERRORS = (ConnectionError, TimeoutError, RedisError, ScriptError, NewerFormat)


class JobKind(Protocol):
    """A kind of job that can be scheduled. Each method may be called again for the same run."""

    def start(self, schedule: Schedule, schedule_run: ScheduleRun) -> None:
        """Start the job under the run's id, unless it was started. Raises SymposiaError."""
        ...

    def progress(self, schedule: Schedule, schedule_run: ScheduleRun) -> ScheduleRunProgress | None:
        """Return the progress; None: the job is unknown."""
        ...

    def cancel(self, schedule: Schedule, schedule_run: ScheduleRun) -> None:
        """End the job, if it has not ended."""
        ...


class ScheduleRunner:
    """Processing of the schedules of one Redis.

    Args:
        store: The schedules.
        works: The kinds of jobs by name: `review` and `job`.
        grace_ms: Milliseconds that a beat's message may be late before the sweep sends one itself.
        lease_ms: Milliseconds without a renewal after which another worker takes over.
    """

    def __init__(
        self, store: ScheduleStore, works: Mapping[str, JobKind], *, grace_ms: int, lease_ms: int
    ) -> None:
        self.store = store
        self._job_kinds = works
        self._lease_ms = lease_ms
        self._grace_ms = grace_ms

    def process_schedule(self, name: str) -> None:
        """Do all due work of a schedule.

        Raises:
            RedisUnavailable: Redis does not answer.
            CorruptSchedule: The stored schedule is invalid.
            NewerFormat: A newer version of Symposia wrote the schedule or its run.
        """
        token = new_id()
        if self.store.take_lease(name, token, lease_ms=self._lease_ms) != "mine":
            return
        look_ms = None
        try:
            look_ms = self._process_until_idle(name, token)
            while self.store.release(name, token, look_ms=look_ms) == "again":
                look_ms = self._process_until_idle(name, token)
        except ScheduleNotFound:
            return  # removed in the meantime
        except Exception:
            if look_ms is None:  # release it before the lease ends
                self.store.release(name, token, look_ms=self.store.now_ms() + self._grace_ms)
            raise

    def _process_until_idle(self, name: str, token: str) -> int:
        """Check until no work is due; return the time of the next check."""
        with self._renewed(name, token):
            while True:
                state = self.store.get(name)
                if state.running is not None:
                    progress = self._advance_run(state.schedule, state.running)
                    if progress is not None:
                        self._record_end(name, state.running, progress)
                        continue
                if not self._claim_next(state):
                    return self._next_check_ms(state)

    @contextmanager
    def _renewed(self, name: str, token: str) -> Iterator[None]:
        """Renew the lease in a thread: the start of a review may fetch a branch, and runs programs for minutes."""
        is_over = Event()

        def renew() -> None:
            while not is_over.wait(self._lease_ms / 3000):
                try:
                    if self.store.take_lease(name, token, lease_ms=self._lease_ms) != "mine":
                        return
                except Exception as error:  # noqa: BLE001 - the lease may still be valid when Redis is back
                    log.warning("renewing the lease of schedule %s failed: %s", name, error)

        thread = Thread(target=renew, name="symposia-schedule-lease", daemon=True)
        thread.start()
        try:
            yield
        finally:
            is_over.set()
            thread.join()  # a later renewal would take the released schedule again

    # -- what runs ------------------------------------------------------------------------------

    def _advance_run(self, schedule: Schedule, running: ScheduleRun) -> ScheduleRunProgress | None:
        """Start a run that was not started; return its end, or None while it runs."""
        work = self._kind_of_run(schedule, running)
        try:
            progress = work.progress(schedule, running)
            if progress is None and running.started_ms:
                return ScheduleRunProgress(RunOutcome.FAILED, detail="its state has expired")
            if progress is None:
                work.start(schedule, running)
            if not running.started_ms:
                self.store.record_start(schedule.name, running.id, kind=schedule.kind)
        except TRANSIENT_ERRORS:
            raise
        except SymposiaError as error:
            return ScheduleRunProgress(RunOutcome.FAILED, detail=str(error))
        except Exception as error:  # a defect must not block later due times
            log.exception("schedule %s: starting a due run failed", schedule.name)
            return ScheduleRunProgress(RunOutcome.FAILED, detail=f"a defect: {type(error).__name__}")
        return progress if progress is not None and progress.outcome is not None else None

    def _kind_of_run(self, schedule: Schedule, running: ScheduleRun) -> JobKind:
        """Return the kind of a run; a started run keeps its kind, even if its schedule was replaced."""
        return self._job_kinds[running.kind or schedule.kind]

    def _record_end(self, name: str, running: ScheduleRun, progress: ScheduleRunProgress) -> None:
        ended_ms = progress.ended_ms or self.store.now_ms()
        record = ScheduleRunRecord(
            id=running.id,
            due_ms=running.due_ms,
            by_hand=running.by_hand,
            outcome=progress.outcome or RunOutcome.FAILED,
            # A short run may end before its start is recorded.
            started_ms=min(running.started_ms or running.claimed_ms, ended_ms),
            ended_ms=ended_ms,
            usage=progress.usage,
            detail=" ".join(progress.detail.split())[:500],
        )
        self.store.record_end(name, record)

    def _cancel(self, state: ScheduleState) -> None:
        """Cancel the older run in favour of the newer one."""
        schedule, running = state.schedule, state.running
        assert running is not None  # noqa: S101 - `busy` says so
        work = self._kind_of_run(schedule, running)
        work.cancel(schedule, running)
        last = work.progress(schedule, running) or ScheduleRunProgress()
        self._record_end(
            schedule.name,
            running,
            ScheduleRunProgress(
                last.outcome or RunOutcome.CANCELLED, last.usage, last.detail or "a newer run was due"
            ),
        )

    # -- what is due ----------------------------------------------------------------------------

    def _claim_next(self, state: ScheduleState) -> bool:
        """Claim the first due time; return whether there is more to do now."""
        due = self._due(state)
        if due is None or state.paused:
            return False
        due_ms, overlap = due
        word = self.store.claim(
            state.schedule.name,
            schedule_run_id(state.schedule.name, state.origin_ms, due_ms),
            due_ms=due_ms,
            overlap=overlap,
        )
        if word == "busy":
            self._cancel(state)
        return word not in ("paused", "missing")

    @staticmethod
    def _due(state: ScheduleState) -> tuple[int, str] | None:
        """Return the first due time that is not done, with its overlap policy, `missed` or `overtaken`."""
        schedule, origin = state.schedule, moment_from_ms(state.origin_ms)
        now, last = moment_from_ms(state.now_ms), moment_from_ms(state.last_ms)
        late = moment_from_ms(state.now_ms - schedule.grace_s * 1000)
        if late > last:
            missed = schedule.when.until(late, origin=origin)
            if missed > last:
                # The latest missed time represents all of them. There is no catch-up run if another time is
                # due now.
                fresh = next(schedule.when.between(missed, now, origin=origin), None)
                makes_up = schedule.missed is MissedPolicy.ONCE and fresh is None
                return ms_from_moment(missed), schedule.overlap if makes_up else "missed"
        due = schedule.when.after(last, origin=origin)
        if due > now:
            return None
        # With the policy `cancel`, do not start a run that the next one would cancel at once.
        is_overtaken = (
            schedule.overlap is OverlapPolicy.CANCEL and schedule.when.after(due, origin=origin) <= now
        )
        return ms_from_moment(due), "overtaken" if is_overtaken else schedule.overlap

    def _next_check_ms(self, state: ScheduleState) -> int:
        """Return the time of the sweep's next check, unless a message arrives before."""
        look_ms = ms_from_moment(state.next_due) + self._grace_ms
        if state.running is not None:
            age_ms = state.now_ms - (state.running.started_ms or state.now_ms)
            look_ms = min(look_ms, state.now_ms + min(max(age_ms // 10, _SOONEST_MS), _LATEST_MS))
        return look_ms

"""Schedules for programs and the command line, and the check of their names against the workers.

from symposia import Client

schedules = Client().schedules
schedules.add("nightly", cron="0 3 * * *", zone="Europe/Berlin", review={"panel": "code", "root": "app"})
schedules.run_now("nightly")
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Collection, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from functools import partial
from itertools import takewhile
from typing import Any

from ..models.errors import InvalidInput, ScheduleNotFound, UnknownAgent
from ..models.text.ids import moment_from_ms, new_id
from ..models.text.nearest import nearest_names
from ..state.presence import WorkerPresence
from ..state.redis.readers import Unreadable, read_record
from ..tasks.runtime.graph import broker_error
from .schedule import (
    DEFAULT_GRACE_S,
    MissedPolicy,
    OverlapPolicy,
    ReviewAction,
    RunOutcome,
    Schedule,
    ScheduleRunRecord,
    schedule_run_id,
)
from .store import ScheduleStore

log = logging.getLogger(__name__)

#: Newest runs of a schedule that are read to count its failures.
MAX_FAILURES = 20
#: Outcomes of runs that say nothing about the action.
_NOT_STARTED = (RunOutcome.SKIPPED, RunOutcome.MISSED)
#: Source of schedules that are defined in a file.
FROM_SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class ScheduleEntry:
    """Current state of a schedule. Times are in UTC."""

    schedule: Schedule
    paused: bool
    #: True if it is defined in the file of the settings.
    from_settings: bool
    #: The next due time; None: it is paused.
    next_due: datetime | None
    #: Id of the active run, which is that of its session or review.
    running: str | None
    #: Number of queued runs.
    queued: int
    #: Record of the newest ended run.
    last: ScheduleRunRecord | None
    #: Number of failed runs since the last one that did not fail, at most `MAX_FAILURES`.
    failures: int = 0
    #: Reason of the newest of them.
    last_failure: str = ""

    @property
    def problem(self) -> str:
        """Why the schedule fails, with the number of runs; empty: its last run did not fail."""
        if not self.failures:
            return ""
        many = "+" if self.failures == MAX_FAILURES else ""
        return f"failed {self.failures}{many} {'times' if self.failures > 1 else 'time'} in a row: {self.last_failure}"

    def to_json(self) -> dict[str, Any]:
        """Return the entry as data."""
        return {
            **self.schedule.to_wire(),
            "paused": self.paused,
            "from_settings": self.from_settings,
            "next_due": self.next_due and self.next_due.isoformat(),
            "running": self.running,
            "queued": self.queued,
            "last": self.last and record_json(self.last),
            "failures": self.failures,
            "problem": self.problem,
        }


def record_json(record: ScheduleRunRecord) -> dict[str, Any]:
    """Return a record of the history as data."""
    return {
        "id": record.id,
        "due": moment_from_ms(record.due_ms).isoformat(),
        "by_hand": record.by_hand,
        "outcome": record.outcome.value,
        "duration_s": record.duration_s,
        "tokens": record.usage.tokens,
        "cost_usd": record.usage.cost_micros / 1e6,
        "detail": record.detail,
    }


class Schedules:
    """The schedules of one installation.

    Args:
        store: Store of the schedules.
        send_task: Function that sends the Celery task of the schedule of this name.
        check_names: Function that raises InvalidInput for a schedule with names that are not configured.
    """

    def __init__(
        self,
        store: ScheduleStore,
        send_task: Callable[[str], None],
        check_names: Callable[[Schedule], None] = lambda _: None,
    ) -> None:
        self._store = store
        self._send_task = send_task
        self._check_names = check_names

    def add(  # noqa: PLR0913 - each is a field of a schedule
        self,
        name: str,
        *,
        cron: str | None = None,
        every: int | str | None = None,
        zone: str = "UTC",
        review: ReviewAction | Mapping[str, Any] | None = None,
        job: str | None = None,
        overlap: OverlapPolicy | str = OverlapPolicy.SKIP,
        missed: MissedPolicy | str = MissedPolicy.SKIP,
        grace_s: int = DEFAULT_GRACE_S,
        replace: bool = False,
    ) -> ScheduleEntry:
        """Add a schedule. It takes effect at once.

        Args:
            name: Letters, digits, `.`, `_` and `-`, at most 64.
            cron: Five fields, read in `zone`, or a word such as `@daily`.
            every: Seconds, or a span such as `15m`; either this or `cron`.
            zone: A time zone such as `Europe/Berlin`.
            review: What is reviewed; either this or `job`.
            job: The name of a session file in the workers' settings (`SYMPOSIA_JOBS`).
            overlap: What happens when a run is due while an earlier one is running.
            missed: What happens to runs that were missed.
            grace_s: Seconds for which a run may be late before it is missed.
            replace: Whether to replace a schedule of this name.

        Returns:
            The schedule as it is now.

        Raises:
            InvalidInput: The first field that breaks a rule; nothing was written.
            RedisUnavailable: The call may be repeated with `replace`.
        """
        when = {"cron": cron, "every": every, "zone": zone}
        what = {"review": review, "job": job, "overlap": overlap, "missed": missed, "grace_s": grace_s}
        return self.put(_read_schedule(name, {**when, **what}), replace=replace)

    def put(self, schedule: Schedule, *, replace: bool = False) -> ScheduleEntry:
        """Add a `Schedule` object; otherwise the same as `add`.

        Args:
            schedule: The schedule.
            replace: Whether to replace a schedule of this name.

        Returns:
            The schedule as it is now.

        Raises:
            InvalidInput: The first field that breaks a rule; nothing was written.
            RedisUnavailable: The call may be repeated with `replace`.
        """
        self._check_names(schedule)
        self._store.put(schedule, mode="replace" if replace else "new")
        return self.get(schedule.name)

    def sync(self, schedules: Iterable[Schedule]) -> None:
        """Replace the schedules of the settings by those given; all other schedules do not change.

        Args:
            schedules: All schedules of the settings.

        Raises:
            InvalidInput: There are too many.
            RedisUnavailable: The call may be repeated.
        """
        wanted = {schedule.name: schedule for schedule in schedules}
        for schedule in wanted.values():
            self._store.put(schedule, mode="sync", source=FROM_SETTINGS)
        for name in self._store.names():
            with suppress(ScheduleNotFound):  # another beat has removed it
                stored = read_record("schedule", name, partial(self._store.get, name))
                if (
                    name not in wanted
                    and not isinstance(stored, Unreadable)
                    and stored.source == FROM_SETTINGS
                ):
                    self._store.remove(name)

    def entries(self) -> list[ScheduleEntry]:
        """Return all schedules, by name.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        return self.page(limit=None)

    def page(self, *, after: str = "", limit: int | None = 100) -> list[ScheduleEntry]:
        """Return some schedules, by name.

        Args:
            after: Only schedules with later names.
            limit: Maximum number of schedules. None: all.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        entries = []
        for name in [name for name in self._store.names() if name > after][:limit]:
            with suppress(ScheduleNotFound):  # removed at the same time
                entries.append(read_record("schedule", name, partial(self.get, name)))
        return [entry for entry in entries if not isinstance(entry, Unreadable)]

    def get(self, name: str) -> ScheduleEntry:
        """Return one schedule.

        Args:
            name: The name of the schedule.

        Raises:
            ScheduleNotFound: There is no schedule of this name.
            RedisUnavailable: Redis does not answer.
        """
        state = self._store.get(name)
        history = self._store.history(name, count=MAX_FAILURES)
        ended = [record for record in history if record.outcome not in _NOT_STARTED]
        failed = list(takewhile(lambda record: record.outcome is RunOutcome.FAILED, ended))
        return ScheduleEntry(
            schedule=state.schedule,
            paused=state.paused,
            from_settings=state.source == FROM_SETTINGS,
            next_due=None if state.paused else state.next_due,
            running=None if state.running is None else state.running.id,
            queued=state.queued,
            last=next(iter(history), None),
            failures=len(failed),
            last_failure=failed[0].detail if failed else "",
        )

    def pause(self, name: str) -> None:
        """Pause a schedule until it is resumed; running jobs continue.

        Args:
            name: The name of the schedule.

        Raises:
            ScheduleNotFound: There is no schedule of this name.
            RedisUnavailable: Redis does not answer.
        """
        self._store.pause(name, paused=True)

    def resume(self, name: str) -> None:
        """Resume a schedule with its next time; missed times are skipped.

        Args:
            name: The name of the schedule.

        Raises:
            ScheduleNotFound: There is no schedule of this name.
            RedisUnavailable: Redis does not answer.
        """
        self._store.pause(name, paused=False)

    def remove(self, name: str) -> None:
        """Delete a schedule with its history; running jobs continue.

        Args:
            name: The name of the schedule.

        Raises:
            ScheduleNotFound: There is no schedule of this name.
            RedisUnavailable: Redis does not answer.
        """
        self._store.remove(name)

    def run_now(self, name: str) -> str:
        """Run a schedule once more, in addition to its times, even if it is paused.

        The run waits for earlier ones that have not ended.

        Args:
            name: The name of the schedule.

        Returns:
            The id of the run.

        Raises:
            ScheduleNotFound: There is no schedule of this name.
            RedisUnavailable: Redis does not answer.
        """
        state = self._store.get(name)
        mine = schedule_run_id(name, state.origin_ms, state.now_ms, by_hand=new_id())
        self._store.claim(name, mine, due_ms=state.now_ms, overlap=OverlapPolicy.QUEUE, by_hand=True)
        try:
            self._send_task(name)
        except broker_error() as error:
            log.warning("broker unavailable, the sweep will start schedule %s: %s", name, error)
        return mine

    def history(self, name: str, *, count: int = 20) -> list[ScheduleRunRecord]:
        """Return the records of its runs, newest first.

        Args:
            name: The name of the schedule.
            count: Maximum number of records.

        Raises:
            ScheduleNotFound: There is no schedule of this name.
            RedisUnavailable: Redis does not answer.
        """
        self._store.get(name)
        return self._store.history(name, count=count)


def read_schedules(document: Mapping[str, Any]) -> list[Schedule]:
    """Return the schedules of a file: one table per schedule, by name, with the arguments of `Schedules.add`.

    Raises:
        InvalidInput: The message has the path of the field.
    """
    schedules = []
    for name, table in document.items():
        try:
            schedules.append(_read_schedule(name, table))
        except InvalidInput as error:
            raise error.within(name) from None
    return schedules


def _read_schedule(name: str, table: object) -> Schedule:
    if not isinstance(table, Mapping):
        raise InvalidInput("", table, "must be a table with `cron` or `every` and with `review` or `job`")
    when = {part: table[part] for part in ("cron", "every", "zone") if part in table}
    what = {part: value for part, value in table.items() if part not in when}
    return Schedule(**{"name": name, "when": when, **what})


def check_names(schedule: Schedule, workers: WorkerPresence) -> None:
    """Refuse a schedule whose names a live worker does not know; without a live worker nothing is checked.

    Raises:
        InvalidInput: A live worker does not have the root, the job or the panel.
        UnknownAgent: The agent of a review's model seats is not registered.
    """
    review = schedule.review
    if schedule.job is not None:
        _check("job", schedule.job, workers.offered("jobs"), "a job of the workers (SYMPOSIA_JOBS)")
    if review is None:
        return
    if review.root is not None:
        offered = workers.offered("roots")
        _check("review.root", review.root, offered, "a root of the workers (SYMPOSIA_REVIEW_ROOTS)")
    _check("review.panel", review.panel, workers.offered("panels"), "a panel of the workers")
    known_agents = workers.known_agents()
    if review.model is not None and known_agents and review.model not in known_agents:
        raise UnknownAgent(review.model, known=known_agents, field="review.model")


def _check(field: str, name: str, offered: Collection[str] | None, what: str) -> None:
    if offered is None or name in offered:
        return
    nearest = nearest_names(name, offered) or "none is configured"
    raise InvalidInput(
        field, name, f"must be {what}: {nearest}; after a change of the settings, restart the workers"
    )

"""Schedules as programs and the command line know them: written, looked at, paused, run now.

from symposia import Client

schedules = Client().schedules
schedules.add("nightly", cron="0 3 * * *", zone="Europe/Berlin", review={"panel": "code", "root": "app"})
schedules.run_now("nightly")
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from datetime import datetime
from typing import Any

from ..models.errors import InvalidInput, ScheduleNotFound
from ..models.ids import moment_from_ms, new_id
from ..models.schedules.occurrences import Record, occurrence_id
from ..models.schedules.schedule import Overlap, Schedule
from ..state.schedules import ScheduleBook, ScheduleState
from ..tasks.graph import BrokerAway
from .reports.formats import ReportFormat

log = logging.getLogger(__name__)

#: Where schedules of a file say they come from.
FROM_SETTINGS = "settings"


@dataclass(frozen=True, slots=True)
class Entry:
    """A schedule as it is now. Moments are in UTC."""

    schedule: Schedule
    paused: bool
    #: It stands in the file of the settings.
    from_settings: bool
    #: The next time that is due; None: it pauses.
    next_due: datetime | None
    #: The id of the occurrence under way: of its session, or its review.
    running: str | None
    #: How many wait.
    queued: int
    #: What came of the newest occurrence that has ended.
    last: Record | None

    def to_json(self) -> dict[str, Any]:
        """The same as data."""
        return {
            **self.schedule.to_wire(),
            "paused": self.paused,
            "from_settings": self.from_settings,
            "next_due": self.next_due and self.next_due.isoformat(),
            "running": self.running,
            "queued": self.queued,
            "last": self.last and record_json(self.last),
        }


def record_json(record: Record) -> dict[str, Any]:
    """A record of the history as data."""
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
        book: where they are kept.
        send_word: has some worker see to the schedule of this name.
        check_names: raises InvalidInput for a schedule that names what no worker knows.
    """

    def __init__(
        self,
        book: ScheduleBook,
        send_word: Callable[[str], None],
        check_names: Callable[[Schedule], None] = lambda _: None,
    ) -> None:
        self._book = book
        self._send_word = send_word
        self._check_names = check_names

    def add(
        self,
        name: str,
        *,
        cron: str | None = None,
        every: int | str | None = None,
        zone: str = "UTC",
        replace: bool = False,
        **what: Any,
    ) -> Entry:
        """Adds a schedule. It takes effect at once.

        Args:
            name: letters, digits, `.`, `_` and `-`, at most 64.
            cron: five fields, read in `zone`, or a word such as `@daily`.
            every: seconds, or a span such as `15m`; either this or `cron`.
            zone: a time zone such as `Europe/Berlin`.
            replace: whether it may take the place of another of its name.
            what: the other fields of `Schedule`: `review` or `job`, `overlap`, `missed`, `grace_s`.

        Raises:
            InvalidInput: the first field that breaks a rule; nothing was written.
            RedisUnavailable: it may be repeated with `replace`.
        """
        when = {"cron": cron, "every": every, "zone": zone}
        return self.put(_read_schedule(name, {**when, **what}), replace=replace)

    def put(self, schedule: Schedule, *, replace: bool = False) -> Entry:
        """The same for a schedule that was made before. Raises InvalidInput."""
        for name in () if schedule.review is None else schedule.review.formats:
            if name not in list(ReportFormat):
                raise InvalidInput("review.formats", name, f"must be one of {', '.join(ReportFormat)}")
        self._check_names(schedule)
        self._book.put(schedule, mode="replace" if replace else "new")
        return self.get(schedule.name)

    def sync(self, schedules: Iterable[Schedule]) -> None:
        """Makes the schedules of the settings those given here; those added otherwise stay as they are.

        Raises:
            InvalidInput: there are too many.
        """
        wanted = {it.name: it for it in schedules}
        for schedule in wanted.values():
            self._book.put(schedule, mode="sync", source=FROM_SETTINGS)
        for name in self._book.names():
            with suppress(ScheduleNotFound):  # another beat does the same
                if name not in wanted and self._book.get(name).source == FROM_SETTINGS:
                    self._book.remove(name)

    def entries(self) -> list[Entry]:
        """All of them, by name."""
        found = []
        for name in self._book.names():
            with suppress(ScheduleNotFound):  # removed in this moment
                found.append(self.get(name))
        return found

    def get(self, name: str) -> Entry:
        """One of them. Raises ScheduleNotFound."""
        state = self._book.get(name)
        last = next(iter(self._book.history(name, count=1)), None)
        return Entry(
            schedule=state.schedule,
            paused=state.paused,
            from_settings=state.source == FROM_SETTINGS,
            next_due=None if state.paused else _next_due(state),
            running=None if state.running is None else state.running.id,
            queued=state.queued,
            last=last,
        )

    def pause(self, name: str) -> None:
        """Nothing is due until it is resumed; what runs goes on. Raises ScheduleNotFound."""
        self._book.pause(name, paused=True)

    def resume(self, name: str) -> None:
        """It goes on with the next time; what was due meanwhile is left out. Raises ScheduleNotFound."""
        self._book.pause(name, paused=False)

    def remove(self, name: str) -> None:
        """Forgets it with its history; what runs goes on. Raises ScheduleNotFound."""
        self._book.remove(name)

    def run_now(self, name: str) -> str:
        """Runs it once more, beside its times, also while it pauses; answers the id of the occurrence.

        While an earlier one is not done it waits for that.

        Raises:
            ScheduleNotFound: there is none of this name.
        """
        state = self._book.get(name)
        mine = occurrence_id(name, state.origin_ms, state.now_ms, by_hand=new_id())
        self._book.claim(name, mine, due_ms=state.now_ms, overlap=Overlap.QUEUE, by_hand=True)
        try:
            self._send_word(name)
        except BrokerAway as error:
            log.warning("schedule %s waits for the sweep of a worker: %s", name, error)
        return mine

    def history(self, name: str, *, count: int = 20) -> list[Record]:
        """What came of its occurrences, newest first. Raises ScheduleNotFound."""
        self._book.get(name)
        return self._book.history(name, count=count)


def _next_due(state: ScheduleState) -> datetime:
    return state.schedule.when.after(moment_from_ms(state.now_ms), origin=moment_from_ms(state.origin_ms))


def read_schedules(document: Mapping[str, Any]) -> list[Schedule]:
    """What a file of schedules holds: a table a schedule, by name, with what `Schedules.add` takes.

    Raises:
        InvalidInput: under the path of the field.
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
        raise InvalidInput("", table, "must be a table with `cron` or `every`, and `review` or `job`")
    when = {part: table[part] for part in ("cron", "every", "zone") if part in table}
    what = {part: value for part, value in table.items() if part not in when}
    return Schedule(**{"name": name, "when": when, **what})

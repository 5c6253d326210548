"""Schedules in Redis: one hash each, in the form that RedBeat reads, with what this project knows beside it.

All keys are in one slot, so that one script may touch a schedule and the index of the beats. The
beats only send word; which times were claimed is the single number `last_ms`, since times are
claimed in their order.

| field of a schedule's hash | holds |
|---|---|
| `definition`, `meta` | what RedBeat knows: the task to send and when; when it was last sent |
| `document`, `source` | the `Schedule`; `settings` where it stands in a file |
| `origin_ms`, `last_ms` | where the grid of an interval begins; up to when times are done with |
| `running`, `asked` | the `Occurrence` under way; the newest one asked for by hand |
| `paused`, `keeper`, `again` | whether it pauses; which worker sees to it; whether to look once more |
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import cast

from redis import Redis

from ..models.errors import CorruptSchedule, InvalidInput, ScheduleNotFound
from ..models.ids import moment_from_ms, ms_from_moment
from ..models.schedules.occurrences import Occurrence, Record
from ..models.schedules.schedule import Schedule
from .clock import server_ms
from .keys import SCHEDULES_LOOK, schedule_keys
from .scripts import call, load, type_value
from .timetable import Timetable

#: The task that a beat sends; its only argument is the name of the schedule.
OCCURRENCE = "symposia.occurrence"
#: How many schedules there may be, occurrences may wait, and records are kept of each schedule.
MOST_SCHEDULES, MOST_QUEUED, MOST_KEPT = 1_000, 100, 1_000


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """A schedule as it is now; times in milliseconds since the epoch."""

    schedule: Schedule
    origin_ms: int
    #: Times up to here are done with.
    last_ms: int
    paused: bool
    #: `settings` where it stands in a file, else empty.
    source: str
    running: Occurrence | None
    #: How many wait.
    queued: int
    now_ms: int


class ScheduleIndex(Timetable):
    """Names of schedules by the time at which a worker should look at each: what no beat sent word of."""

    KEY = SCHEDULES_LOOK


class ScheduleBook:
    """The schedules of one Redis, by name. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self.index = ScheduleIndex(client)

    def now_ms(self) -> int:
        """The server's clock."""
        return server_ms(self._client)

    # -- the schedules ------------------------------------------------------------------------

    def put(self, schedule: Schedule, *, mode: str = "new", source: str = "") -> str:
        """Writes a schedule: `added`, `replaced` or `kept`. `mode`: `new`, `replace` or `sync`.

        Raises:
            InvalidInput: the name is taken and `mode` is `new`, or there are too many.
        """
        keys, now_ms = schedule_keys(schedule.name), self.now_ms()
        origin_ms = int(self._client.hget(keys["entry"], "origin_ms") or now_ms // 1000 * 1000)
        first = schedule.when.after(moment_from_ms(now_ms), origin=moment_from_ms(origin_ms))
        args: dict[str, type_value] = {
            "name": schedule.name,
            "definition": definition_of(schedule, origin_ms),
            "document": schedule.to_json(),
            "source": source,
            "origin_ms": origin_ms,
            "mode": mode,
            "score": ms_from_moment(first) // 1000,
            "most": MOST_SCHEDULES,
        }
        word = self._run("schedule_put", schedule.name, args)
        if word == "exists":
            raise InvalidInput("name", schedule.name, "must be new, or replace the schedule that has it")
        if word == "full":
            raise InvalidInput("name", schedule.name, f"must be one of at most {MOST_SCHEDULES} schedules")
        return word

    def pause(self, name: str, *, paused: bool) -> None:
        """Stops a schedule for a while, or lets it go on. Raises ScheduleNotFound."""
        word = self._run("schedule_pause", name, {"name": name, "paused": "1" if paused else ""})
        if word == "missing":
            raise ScheduleNotFound(name)

    def remove(self, name: str) -> None:
        """Forgets a schedule with its history; what runs goes on. Raises ScheduleNotFound."""
        if self._run("schedule_remove", name, {"name": name}) == "missing":
            raise ScheduleNotFound(name)

    def names(self) -> list[str]:
        """All schedules, in the order of their names."""
        return sorted(cast("list[str]", self._client.zrange(SCHEDULES_LOOK, 0, -1)))

    def get(self, name: str) -> ScheduleState:
        """A schedule as it is now. Raises ScheduleNotFound, CorruptSchedule."""
        keys = schedule_keys(name)
        with self._client.pipeline(transaction=True) as pipe:
            pipe.hgetall(keys["entry"])
            pipe.llen(keys["queue"])
            fields, queued = pipe.execute()
        if "document" not in fields:
            raise ScheduleNotFound(name)
        return _read(name, fields, queued=queued, now_ms=self.now_ms())

    def history(self, name: str, *, count: int = 20) -> list[Record]:
        """What came of a schedule's occurrences, newest first; nothing where there is no such schedule."""
        key = schedule_keys(name)["history"]
        return _records(name, cast("list[str]", self._client.lrange(key, 0, count - 1)))

    # -- occurrences ----------------------------------------------------------------------------

    def claim(
        self, name: str, occurrence_id: str, *, due_ms: int, overlap: str, by_hand: bool = False
    ) -> str:
        """Takes a time that is due, or an occurrence by hand; `overlap` is an `Overlap`, `missed` or `overtaken`.

        Answers `running`, `queued`, `skipped`, `missed`, `taken`, `busy`, `paused` or `missing`.
        """
        args: dict[str, type_value] = {
            "name": name,
            "id": occurrence_id,
            "due_ms": due_ms,
            "by_hand": "1" if by_hand else "",
            "overlap": overlap,
            "most_queued": MOST_QUEUED,
            "most_kept": MOST_KEPT,
        }
        return self._run("schedule_claim", name, args)

    def take(self, name: str, token: str, *, lease_ms: int) -> str:
        """Asks to see to a schedule: `mine`, `other` or `missing`."""
        return self._run("schedule_take", name, {"token": token, "lease_ms": lease_ms})

    def release(self, name: str, token: str, *, look_ms: int) -> str:
        """Gives a schedule back until `look_ms`: `released`, `other`, or `again` when there is news."""
        return self._run("schedule_release", name, {"name": name, "token": token, "look_ms": look_ms})

    def started(self, name: str, occurrence_id: str, *, kind: str) -> None:
        """Notes that what the running occurrence does was begun, and of which kind it is."""
        self._run("schedule_started", name, {"id": occurrence_id, "kind": kind})

    def settle(self, name: str, record: Record) -> str:
        """The running occurrence has ended: `next` when another takes its place, `idle`, or `other`."""
        args: dict[str, type_value] = {
            "id": record.id,
            "record": record.model_dump_json(),
            "most_kept": MOST_KEPT,
        }
        return self._run("schedule_settle", name, args)

    def tick(self, name: str, *, meta: str, score: int) -> None:
        """A beat has sent word of a schedule; `meta` is what RedBeat keeps of that."""
        self._run("schedule_tick", name, {"meta": meta, "score": score})

    def _run(self, verb: str, name: str, args: Mapping[str, type_value]) -> str:
        keys = schedule_keys(name)
        return str(call(self._client, verb, [keys[it] for it in load(verb).keys], args)[0])


def definition_of(schedule: Schedule, origin_ms: int) -> str:
    """A schedule as RedBeat keeps its entries: what task is sent, and when."""
    return json.dumps(
        {
            "name": schedule.name,
            "task": OCCURRENCE,
            "args": [],
            "kwargs": {"schedule": schedule.name},
            # A word that waits for longer than this is of no use: workers look for themselves.
            "options": {"expires": schedule.grace_s, "ignore_result": True},
            "schedule": {**schedule.when.to_wire(), "origin_ms": origin_ms},
            "enabled": True,
        }
    )


def _read(name: str, fields: Mapping[str, str], *, queued: int, now_ms: int) -> ScheduleState:
    try:
        running = fields.get("running")
        return ScheduleState(
            schedule=Schedule.model_validate_json(fields["document"]),
            origin_ms=int(fields["origin_ms"]),
            last_ms=int(fields["last_ms"]),
            paused="paused" in fields,
            source=fields.get("source", ""),
            running=None if running is None else Occurrence.model_validate_json(running),
            queued=queued,
            now_ms=now_ms,
        )
    except (KeyError, ValueError) as error:
        raise CorruptSchedule(name) from error


def _records(name: str, texts: Iterable[str]) -> list[Record]:
    try:
        return [Record.model_validate_json(text) for text in texts]
    except ValueError as error:
        raise CorruptSchedule(name) from error

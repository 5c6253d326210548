"""Schedules in Redis: one hash each, in the format of RedBeat, with further fields of Symposia.

All keys are in one slot, so that one script can change a schedule and the index of the beats. The beats
only send messages. Due times are claimed in order, so the number `last_ms` records all claimed times.

| field of a schedule's hash | holds |
|---|---|
| `definition`, `meta` | fields of RedBeat: the Celery task to send and when; when it was last sent |
| `document`, `source` | the `Schedule`; `settings` if it is defined in a file |
| `format` | version of the format of the schedule; absent: 1 |
| `origin_ms`, `last_ms` | first time of an interval's grid; time up to which due times are claimed |
| `running`, `asked` | the running `ScheduleRun`; the newest one requested manually |
| `paused`, `keeper`, `again` | whether it is paused; token of the worker that claimed it; whether to check again |
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from datetime import datetime
from typing import TYPE_CHECKING, cast

from redis import Redis

from ..models.errors import CorruptSchedule, InvalidInput, ScheduleNotFound
from ..models.text.ids import moment_from_ms, ms_from_moment, new_id
from ..state.redis.due_index import DueIndex
from ..state.redis.formats import FORMATS, check_format
from ..state.redis.keys import SCHEDULES_LOOK, schedule_keys
from ..state.redis.readers import server_ms
from ..state.redis.scripts import ScriptValue, call_script, load_script
from .schedule import Schedule, ScheduleRun, ScheduleRunRecord

if TYPE_CHECKING:
    from celery import Celery


#: Celery task that a beat sends; its only argument is the name of the schedule.
SCHEDULE_RUN_TASK = "symposia.occurrence"
#: Maximum numbers of schedules, of queued runs, and of records of each schedule.
MAX_SCHEDULES, MAX_QUEUED, MAX_KEPT = 1_000, 100, 1_000


@dataclass(frozen=True, slots=True)
class ScheduleState:
    """Current state of a schedule; times in milliseconds since the epoch."""

    schedule: Schedule
    origin_ms: int
    #: Time up to which due times are claimed.
    last_ms: int
    paused: bool
    #: `settings` if it is defined in a file, else empty.
    source: str
    running: ScheduleRun | None
    #: Number of queued runs.
    queued: int
    now_ms: int

    @property
    def next_due(self) -> datetime:
        """The first due time after now."""
        return self.schedule.when.after(moment_from_ms(self.now_ms), origin=moment_from_ms(self.origin_ms))


class ScheduleIndex(DueIndex):
    """Names of schedules by the time of their next check by a worker, in case no beat sends a message."""

    KEY = SCHEDULES_LOOK


class ScheduleStore:
    """The schedules of one Redis, by name. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client
        self.index = ScheduleIndex(client)

    def now_ms(self) -> int:
        """Return the server's time in milliseconds since the epoch."""
        return server_ms(self._client)

    # -- the schedules ------------------------------------------------------------------------

    def put(self, schedule: Schedule, *, mode: str = "new", source: str = "") -> str:
        """Write a schedule; return `added`, `replaced` or `kept`. `mode`: `new`, `replace` or `sync`.

        Raises:
            InvalidInput: The name is taken and `mode` is `new`, or there are too many.
            NewerFormat: A newer version of Symposia wrote the schedule.
        """
        keys, now_ms = schedule_keys(schedule.name), self.now_ms()
        stored = cast("list[str | None]", self._client.hmget(keys["entry"], ["origin_ms", "format"]))
        check_format("schedule", schedule.name, stored[1])
        origin_ms = int(stored[0] or now_ms // 1000 * 1000)
        first = schedule.when.after(moment_from_ms(now_ms), origin=moment_from_ms(origin_ms))
        args: dict[str, ScriptValue] = {
            "name": schedule.name,
            "definition": definition_of(schedule, origin_ms),
            "document": schedule.to_json(),
            "source": source,
            "origin_ms": origin_ms,
            "mode": mode,
            "score": ms_from_moment(first) // 1000,
            "most": MAX_SCHEDULES,
            "format": FORMATS["schedule"],
        }
        word = self._run("schedules/put", schedule.name, args)
        if word == "exists":
            raise InvalidInput(
                "name",
                schedule.name,
                "is already used by another schedule; replace it explicitly or choose another name",
            )
        if word == "full":
            raise InvalidInput("name", schedule.name, f"exceeds the limit of {MAX_SCHEDULES} schedules")
        return word

    def pause(self, name: str, *, paused: bool) -> None:
        """Pause or resume a schedule.

        Raises:
            ScheduleNotFound: There is no schedule of this name.
        """
        word = self._run("schedules/pause", name, {"name": name, "paused": "1" if paused else ""})
        if word == "missing":
            raise ScheduleNotFound(name)

    def remove(self, name: str) -> None:
        """Delete a schedule and its history; running jobs continue.

        Raises:
            ScheduleNotFound: There is no schedule of this name.
        """
        if self._run("schedules/remove", name, {"name": name}) == "missing":
            raise ScheduleNotFound(name)

    def names(self) -> list[str]:
        """Return the names of all schedules, sorted."""
        return sorted(cast("list[str]", self._client.zrange(SCHEDULES_LOOK, 0, -1)))

    def get(self, name: str) -> ScheduleState:
        """Return the current state of a schedule.

        Raises:
            ScheduleNotFound: There is no schedule of this name.
            CorruptSchedule: The stored schedule is invalid.
            NewerFormat: A newer version of Symposia wrote the schedule.
        """
        keys = schedule_keys(name)
        with self._client.pipeline(transaction=True) as pipe:
            pipe.hgetall(keys["entry"])
            pipe.llen(keys["queue"])
            fields, queued = pipe.execute()
        if "document" not in fields:
            raise ScheduleNotFound(name)
        check_format("schedule", name, fields.get("format"))
        return _read(name, fields, queued=queued, now_ms=self.now_ms())

    def history(self, name: str, *, count: int = 20) -> list[ScheduleRunRecord]:
        """Return the records of a schedule's runs, newest first; empty if the schedule does not exist."""
        key = schedule_keys(name)["history"]
        return _records(name, cast("list[str]", self._client.lrange(key, 0, count - 1)))

    # -- runs -----------------------------------------------------------------------------------

    def claim(
        self, name: str, occurrence_id: str, *, due_ms: int, overlap: str, by_hand: bool = False
    ) -> str:
        """Claim a due time or a manual run; `overlap` is an `OverlapPolicy`, `missed` or `overtaken`.

        Return `running`, `queued`, `skipped`, `missed`, `taken`, `busy`, `paused` or `missing`.
        """
        args: dict[str, ScriptValue] = {
            "name": name,
            "id": occurrence_id,
            "due_ms": due_ms,
            "by_hand": "1" if by_hand else "",
            "overlap": overlap,
            "most_queued": MAX_QUEUED,
            "most_kept": MAX_KEPT,
        }
        return self._run("schedules/claim", name, args)

    def take_lease(self, name: str, token: str, *, lease_ms: int) -> str:
        """Claim a schedule for a worker, or renew its lease; return `mine`, `other` or `missing`."""
        return self._run("schedules/lease", name, {"token": token, "lease_ms": lease_ms})

    def release(self, name: str, token: str, *, look_ms: int) -> str:
        """Release a schedule; its next check is at `look_ms`.

        Return `released`, `other`, or `again` if another worker requested a check in the meantime.
        """
        return self._run("schedules/release", name, {"name": name, "token": token, "look_ms": look_ms})

    def record_start(self, name: str, occurrence_id: str, *, kind: str) -> None:
        """Record that the action of the running run was started, and the kind of the action."""
        self._run("schedules/record_start", name, {"id": occurrence_id, "kind": kind})

    def record_end(self, name: str, record: ScheduleRunRecord) -> str:
        """End the running run; return `next` if a queued run follows, `idle`, or `other`."""
        args: dict[str, ScriptValue] = {
            "id": record.id,
            "record": record.model_dump_json(),
            "most_kept": MAX_KEPT,
        }
        return self._run("schedules/end_run", name, args)

    def record_tick(self, name: str, *, meta: str, score: int) -> None:
        """Record that a beat sent the message of a schedule; `meta` is RedBeat's record of it."""
        self._run("schedules/record_tick", name, {"meta": meta, "score": score})

    def _run(self, verb: str, name: str, args: Mapping[str, ScriptValue]) -> str:
        keys = schedule_keys(name)
        return str(call_script(self._client, verb, [keys[key] for key in load_script(verb).keys], args)[0])


def definition_of(schedule: Schedule, origin_ms: int) -> str:
    """Return a schedule as an entry of RedBeat: the Celery task to send, and when."""
    return json.dumps(
        {
            "name": schedule.name,
            "task": SCHEDULE_RUN_TASK,
            "args": [],
            "kwargs": {"schedule": schedule.name},
            # An older message is useless, because the workers' own checks find the due time.
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
            running=None if running is None else ScheduleRun.model_validate_json(running),
            queued=queued,
            now_ms=now_ms,
        )
    except (KeyError, ValueError) as error:
        raise CorruptSchedule(name) from error


def _records(name: str, texts: Iterable[str]) -> list[ScheduleRunRecord]:
    try:
        return [ScheduleRunRecord.model_validate_json(text) for text in texts]
    except ValueError as error:
        raise CorruptSchedule(name) from error


def send_schedule_task(find_app: Callable[[], Celery], schedule: str) -> None:
    """Send the Celery task of a schedule, which starts its due runs in a worker."""
    find_app().send_task(
        SCHEDULE_RUN_TASK,
        kwargs={"schedule": schedule},
        task_id=new_id(),
        argsrepr="",
        kwargsrepr=f"schedule={schedule}",
        add_to_parent=False,
        ignore_result=True,
        serializer="json",
    )

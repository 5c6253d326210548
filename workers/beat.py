"""The beat: RedBeat, with recurrences that have a grid and a time zone, and no lock between beats.

RedBeat holds the other beats back while one has its lock, and a beat that was killed holds it for
minutes. Here all of them send word of what is due, and a time is claimed once, whoever sends word
of it (`state/lua/schedule_claim.lua`). So several beats only make it likelier that one runs.
"""

from __future__ import annotations

import json
import logging
import os
import socket
import time
from collections.abc import Mapping
from datetime import UTC, datetime, timedelta
from functools import partial
from typing import Any

from celery import Celery
from celery.schedules import BaseSchedule, schedstate
from redbeat.decoder import RedBeatJSONEncoder
from redbeat.schedulers import RedBeatScheduler, RedBeatSchedulerEntry, ensure_conf
from redis.exceptions import RedisError

from ..config.settings import load_settings
from ..models.ids import moment_from_ms
from ..models.schedules.recurrence import Recurrence
from ..models.shown import without_password
from ..reviews.schedule_tasks import send_word
from ..reviews.schedules import Schedules
from ..state.beats import BeatBook
from ..state.connect import connect
from ..state.keys import SCHEDULES, SCHEDULES_BEAT
from ..state.schedules import ScheduleBook
from .connection import redis_url_in_use
from .schedules_file import schedules_of

log = logging.getLogger(__name__)

#: Seconds between two words of a beat that it runs.
_ANNOUNCE_EVERY_S = 5.0


class DueTimes(BaseSchedule):
    """The times that a recurrence names, as Celery asks for them. Clocks are this machine's: a word is a hint."""

    tz = UTC  # type: ignore[assignment]  # what RedBeat takes it for

    def __init__(self, when: Recurrence, origin: datetime) -> None:
        super().__init__()
        self._when = when
        self._origin = origin

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> DueTimes:
        """Out of the definition of an entry (`state/schedules.py`)."""
        when = {part: value for part, value in data.items() if part != "origin_ms"}
        return cls(Recurrence(**when), moment_from_ms(int(data["origin_ms"])))

    def now(self) -> datetime:
        """Now, in UTC."""
        return datetime.now(UTC)

    def after(self, last: datetime | None) -> datetime:
        """The first time behind `last`, or behind the beginning of the schedule."""
        return self._when.after(max(last or self._origin, self._origin), origin=self._origin)

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        """How long it is until then."""
        return self.after(last_run_at) - self.now()

    def is_due(self, last_run_at: datetime) -> schedstate:
        """Whether it is due, and in how many seconds it is next."""
        now = self.now()
        due = self.after(last_run_at)
        following = self.after(now) if due <= now else due
        return schedstate(due <= now, max((following - now).total_seconds(), 0.001))

    def __eq__(self, other: object) -> bool:
        if not isinstance(other, DueTimes):
            return NotImplemented
        return (self._when, self._origin) == (other._when, other._origin)

    def __hash__(self) -> int:
        return hash((self._when, self._origin))

    def __repr__(self) -> str:
        return f"<{self._when}>"


class Entry(RedBeatSchedulerEntry):  # type: ignore[misc]  # RedBeat has no types
    """A schedule as RedBeat keeps it; it is written by `ScheduleBook`, and noted here when word was sent."""

    def __init__(self, name: str | None = None, schedule: Any = None, **options: Any) -> None:
        when = DueTimes.read(schedule) if isinstance(schedule, Mapping) else schedule
        super().__init__(name=name, schedule=when, **options)

    @property
    def due_at(self) -> datetime:
        """When it is due next."""
        due: datetime = self.schedule.after(self.last_run_at)
        return due

    def _next_instance(self, last_run_at: datetime | None = None, **_options: Any) -> Entry:
        following: Entry = super(RedBeatSchedulerEntry, self)._next_instance(last_run_at)
        meta = {"last_run_at": following.last_run_at, "total_run_count": following.total_run_count}
        book: ScheduleBook = self.app.symposia_schedules
        book.tick(self.name, meta=json.dumps(meta, cls=RedBeatJSONEncoder), score=int(following.score))
        return following

    __next__ = next = _next_instance


class SchedulesInRedis(RedBeatScheduler):  # type: ignore[misc]  # RedBeat has no types
    """Sends word of schedules that are due; a Redis or a broker that is away is waited for."""

    Entry = Entry

    def __init__(self, app: Celery, **options: Any) -> None:
        settings = load_settings()
        url = redis_url_in_use(settings)
        client = connect(url)
        app.symposia_schedules = ScheduleBook(client)  # type: ignore[attr-defined]
        app.redbeat_redis = client  # type: ignore[attr-defined]  # where RedBeat looks for its connection
        # No lock. The rest keeps RedBeat from reading the broker's settings, and is only shown.
        app.conf.update(
            redbeat_lock_key=None, redbeat_redis_url=without_password(url), redbeat_redis_options={}
        )
        ensure_conf(app)
        app.redbeat_conf.key_prefix = f"{SCHEDULES}schedule:"  # type: ignore[attr-defined]
        app.redbeat_conf.schedule_key = SCHEDULES_BEAT  # type: ignore[attr-defined]
        #: Read at once, so that a bad file is told at the start.
        self._wanted = schedules_of(settings)
        self._beats = BeatBook(client)
        self._name = f"beat-{os.getpid()}@{socket.gethostname()}"
        self._announce_at = 0.0
        super().__init__(app, **options)

    @property
    def info(self) -> str:
        """What the banner shows: RedBeat's own takes a URL of several hosts apart, and fails."""
        return f"       . redis -> {self.app.redbeat_conf.redis_url}"

    def setup_schedule(self) -> None:
        """Nothing is written while beat starts: Redis may be away then."""

    def tick(self, **options: Any) -> float:
        """Sends word of what is due; seconds until the next time."""
        try:
            self._say_so()
            seconds: float = super().tick(**options)
        except (RedisError, OSError) as error:
            log.warning("beat put off: %s", error)
            return float(self.max_interval)
        return seconds

    def close(self) -> None:
        """Says that it stops."""
        try:
            self._beats.leave(self._name)
        except (RedisError, OSError) as error:
            log.warning("beat: %s", error)
        super().close()

    def _say_so(self) -> None:
        if self._wanted is not None:
            Schedules(self.app.symposia_schedules, partial(send_word, self.app)).sync(self._wanted)
            self._wanted = None
        if time.monotonic() >= self._announce_at:
            self._beats.announce(self._name)
            self._announce_at = time.monotonic() + _ANNOUNCE_EVERY_S

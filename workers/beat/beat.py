"""Beat: RedBeat with recurrences in a time zone, and without a lock between beats.

In RedBeat, one beat has a lock and all others wait; a killed beat keeps the lock for minutes. Here
all beats announce due schedules, and each time is claimed once, whichever beat announced it
(`state/lua/schedules/claim.lua`). So several beats only improve availability.
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
from redis.exceptions import RedisError

from ...client.building.connection import redis_url_in_use
from ...client.building.installed import settings_for
from ...models.extras import Needed
from ...models.text.ids import moment_from_ms
from ...models.text.redact import without_password
from ...models.text.redis_address import split_key_prefix
from ...schedules.recurrence import Recurrence
from ...schedules.schedules import Schedules
from ...schedules.store import ScheduleStore, send_schedule_task
from ...state.presence import BeatPresence
from ...state.redis.connect import connect
from ...state.redis.keys import SCHEDULES, SCHEDULES_BEAT
from .schedules_file import load_schedules_file

with Needed("a beat"):
    from redbeat.decoder import RedBeatJSONEncoder
    from redbeat.schedulers import RedBeatScheduler, RedBeatSchedulerEntry, ensure_conf

log = logging.getLogger(__name__)

#: Seconds between two announcements of a running beat.
_ANNOUNCE_EVERY_S = 5.0


class DueTimes(BaseSchedule):
    """Due times of a recurrence, as a Celery schedule.

    By the local clock, because an announcement is only a hint.
    """

    tz = UTC  # type: ignore[assignment]  # what RedBeat takes it for

    def __init__(self, when: Recurrence, origin: datetime) -> None:
        super().__init__()
        self._when = when
        self._origin = origin

    @classmethod
    def read(cls, data: Mapping[str, Any]) -> DueTimes:
        """Read the definition of an entry (`schedules/store.py`)."""
        when = {part: value for part, value in data.items() if part != "origin_ms"}
        return cls(Recurrence(**when), moment_from_ms(int(data["origin_ms"])))

    def now(self) -> datetime:
        """Return the current time in UTC."""
        return datetime.now(UTC)

    def after(self, last: datetime | None) -> datetime:
        """Return the first time after `last`, or after the beginning of the schedule."""
        return self._when.after(max(last or self._origin, self._origin), origin=self._origin)

    def remaining_estimate(self, last_run_at: datetime) -> timedelta:
        """Return the time until the next run."""
        return self.after(last_run_at) - self.now()

    def is_due(self, last_run_at: datetime) -> schedstate:
        """Return whether it is due, and the seconds until the next time."""
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


class BeatEntry(RedBeatSchedulerEntry):  # type: ignore[misc]  # RedBeat has no types
    """RedBeat entry of a schedule. `ScheduleStore` writes it; this class records each announcement."""

    def __init__(self, name: str | None = None, schedule: Any = None, **options: Any) -> None:
        when = DueTimes.read(schedule) if isinstance(schedule, Mapping) else schedule
        super().__init__(name=name, schedule=when, **options)

    @property
    def due_at(self) -> datetime:
        """Return the next due time."""
        due: datetime = self.schedule.after(self.last_run_at)
        return due

    def _next_instance(self, last_run_at: datetime | None = None, **_options: Any) -> BeatEntry:
        following: BeatEntry = super(RedBeatSchedulerEntry, self)._next_instance(last_run_at)
        meta = {"last_run_at": following.last_run_at, "total_run_count": following.total_run_count}
        book: ScheduleStore = self.app.symposia_schedules
        book.record_tick(self.name, meta=json.dumps(meta, cls=RedBeatJSONEncoder), score=int(following.score))
        return following

    __next__ = next = _next_instance


class SchedulesInRedis(RedBeatScheduler):  # type: ignore[misc]  # RedBeat has no types
    """Scheduler that announces due schedules; it retries while Redis or the broker is unavailable."""

    Entry = BeatEntry

    def __init__(self, app: Celery, **options: Any) -> None:
        settings = settings_for(app)
        url = redis_url_in_use(settings)
        client = connect(url)
        app.symposia_schedules = ScheduleStore(client)  # type: ignore[attr-defined]
        # RedBeat reads keys of schedules from a sorted set, with their prefix. So its client adds none.
        plain_url, prefix = split_key_prefix(url)
        app.redbeat_redis = connect(plain_url)  # type: ignore[attr-defined]  # where RedBeat looks for its connection
        # No lock between beats. The other settings prevent that RedBeat reads those of the broker; they are
        # only shown.
        app.conf.update(
            redbeat_lock_key=None, redbeat_redis_url=without_password(url), redbeat_redis_options={}
        )
        ensure_conf(app)
        app.redbeat_conf.key_prefix = f"{prefix}{SCHEDULES}schedule:"  # type: ignore[attr-defined]
        app.redbeat_conf.schedule_key = f"{prefix}{SCHEDULES_BEAT}"  # type: ignore[attr-defined]
        #: Schedules of the file; read here, so that a wrong file is reported at the start.
        self._wanted = load_schedules_file(settings)
        self._beats = BeatPresence(client)
        self._name = f"beat-{os.getpid()}@{socket.gethostname()}"
        self._announce_at = 0.0
        super().__init__(app, **options)

    @property
    def info(self) -> str:
        """Return the text of the banner; RedBeat's own fails for a URL with several hosts."""
        return f"       . redis -> {self.app.redbeat_conf.redis_url}"

    def setup_schedule(self) -> None:
        """Write nothing at the start, because Redis may be unavailable."""

    def tick(self, **options: Any) -> float:
        """Announce due schedules, and return the seconds until the next time."""
        try:
            self._sync_and_announce()
            seconds: float = super().tick(**options)
        except (RedisError, OSError) as error:
            log.warning("beat failed, will retry: %s", error)
            return float(self.max_interval)
        return seconds

    def close(self) -> None:
        """Announce the stop."""
        try:
            self._beats.leave(self._name)
        except (RedisError, OSError) as error:
            log.warning("beat: announcing the stop failed: %s", error)
        super().close()

    def _sync_and_announce(self) -> None:
        if self._wanted is not None:
            Schedules(self.app.symposia_schedules, partial(send_schedule_task, lambda: self.app)).sync(
                self._wanted
            )
            self._wanted = None
        if time.monotonic() >= self._announce_at:
            self._beats.announce(self._name)
            self._announce_at = time.monotonic() + _ANNOUNCE_EVERY_S

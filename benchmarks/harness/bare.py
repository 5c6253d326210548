"""Bare Celery tasks of the shapes that sessions have: the yardstick of every case.

`create_plain_app` returns Celery as it comes: no line of this project, except for the settings of the workers that
run turns. Messages are acknowledged, because nothing else would send a lost one again. The tasks report their end in
Redis, because turns keep no results.
"""

from __future__ import annotations

import json
import time
from dataclasses import dataclass, field
from typing import Any

from celery import Celery, group
from redis import Redis

from symposia.client.building.broker import broker_url_in_use
from symposia.config.celery import celery_settings
from symposia.config.settings import Settings

DONE = "bench:done"
STAMPS = "bench:stamps"
PLAIN_QUEUE = "bench"
QUIET = {"argsrepr": "", "kwargsrepr": "", "ignore_result": True, "add_to_parent": False}


def message(chain: str, left: int) -> dict[str, str | int]:
    """Arguments as long as those of a turn."""
    return {"session": chain, "turn": left, "participant": "ann", "mode": "round_robin", "scope": "floor"}


@dataclass
class Bare:
    """Chains of bare tasks of one app. `stamps`: start times of a chain's tasks, in the process that runs them."""

    app: Celery
    redis: Redis
    stamps: list[int] = field(default_factory=list)

    def __post_init__(self) -> None:
        # Functions: Celery does not register bound methods.
        def hop(*, session: str, turn: int, **rest: Any) -> None:
            self._hop(session, turn, **rest)

        def answer(*, session: str, turn: int, width: int, **_rest: Any) -> None:
            self._answer(session, turn, width)

        self.app.task(hop, name="bench.hop", ignore_result=True, shared=False)
        self.app.task(answer, name="bench.answer", ignore_result=True, shared=False)

    def _hop(
        self, session: str, turn: int, *, wait_s: float = 0, stamped: bool = False, **_rest: Any
    ) -> None:
        """Wait and send the next: the shape of turns in sequence."""
        if stamped:
            self.stamps.append(time.time_ns())
        if wait_s:
            time.sleep(wait_s)
        if turn > 1:
            self.start(session, width=1, rounds=turn - 1, wait_s=wait_s, stamped=stamped)
            return
        if stamped:
            self.redis.set(STAMPS, json.dumps(self.stamps))
            self.stamps.clear()
        self.redis.incr(DONE)

    def _answer(self, session: str, turn: int, width: int) -> None:
        """Do nothing beside others; the last of them sends the next group: the shape of a broadcast."""
        if self.redis.incr(f"bench:{session}:{turn}") == width:
            if turn > 1:
                self.start(session, width=width, rounds=turn - 1)
            else:
                self.redis.incr(DONE)

    def start(self, chain: str, *, width: int, rounds: int, wait_s: float = 0, stamped: bool = False) -> None:
        """Send tasks in sequence for width 1, groups one after the other for more."""
        kwargs = message(chain, rounds)
        if width == 1:
            kwargs |= {"wait_s": wait_s} if wait_s else {}
            kwargs |= {"stamped": stamped} if stamped else {}
            self.app.send_task("bench.hop", kwargs=kwargs, **QUIET)
            return
        kwargs["width"] = width
        answers = [self.app.signature("bench.answer", kwargs=kwargs, options=QUIET) for _ in range(width)]
        group(answers, app=self.app).apply_async()

    def clear(self) -> None:
        """Delete what earlier chains reported."""
        self.redis.delete(DONE, STAMPS, *self.redis.scan_iter("bench:chain-*"))

    def count_done(self) -> int:
        """Return the number of chains that have ended."""
        return int(self.redis.get(DONE) or 0)


def create_plain_app(settings: Settings) -> Celery:
    """Return Celery as it comes, with a queue of its own."""
    made = Celery("bench", set_as_current=False)
    options = celery_settings(settings, broker_url=broker_url_in_use(settings))
    options["broker_transport_options"] = {**options["broker_transport_options"], "ack_emulation": True}
    made.config_from_object(options)
    made.conf.task_default_queue = PLAIN_QUEUE
    return made

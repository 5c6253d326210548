"""Bare Celery tasks of the shapes that sessions have: the yardstick of `turns.py`.

Of two kinds: `plain` is Celery as it comes, with the settings of the workers that run turns, but with
acknowledgements; `app` runs the turns themselves, and bare tasks over the same transport. They say that they are done in
Redis, because turns keep no results.
"""

from __future__ import annotations

from dataclasses import dataclass, replace
from functools import cache

from celery import Celery, group

from symposia.config.celery import celery_settings
from symposia.config.settings import load_settings
from symposia.factories.connection import broker_url_in_use, redis_url_in_use
from symposia.factories.runtime import build_runtime
from symposia.state.redis.connect import connect
from symposia.tasks.runtime.metrics import NoMetrics
from symposia.tasks.runtime.runtime import Runtime, install_runtime
from symposia.workers.worker_app import create_worker_app

DONE = "bench:done"
PLAIN_QUEUE = "bench"
QUIET = {"argsrepr": "", "kwargsrepr": "", "ignore_result": True, "add_to_parent": False}

settings = load_settings()
redis = connect(redis_url_in_use(settings))


def message(chain: str, left: int) -> dict[str, str | int]:
    """Arguments as long as those of a turn."""
    return {"session": chain, "turn": left, "participant": "ann", "mode": "round_robin", "scope": "floor"}


@dataclass(frozen=True)
class Bare:
    """Chains of bare tasks of one app."""

    app: Celery

    def __post_init__(self) -> None:
        def hop(*, session: str, turn: int, **_rest: str) -> None:
            """Does nothing and sends the next: the shape of turns in sequence."""
            if turn > 1:
                self.start(session, width=1, rounds=turn - 1)
            else:
                redis.incr(DONE)

        def answer(*, session: str, turn: int, width: int, **_rest: str) -> None:
            """Does nothing beside others; the last of them sends the next group: the shape of a broadcast."""
            if redis.incr(f"bench:{session}:{turn}") == width:
                if turn > 1:
                    self.start(session, width=width, rounds=turn - 1)
                else:
                    redis.incr(DONE)

        self.app.task(hop, name="bench.hop", ignore_result=True, shared=False)
        self.app.task(answer, name="bench.answer", ignore_result=True, shared=False)

    def start(self, chain: str, *, width: int, rounds: int) -> None:
        """Hops in sequence for width 1, groups one after the other for more."""
        if width == 1:
            self.app.send_task("bench.hop", kwargs=message(chain, rounds), **QUIET)
            return
        kwargs = {**message(chain, rounds), "width": width}
        answers = [self.app.signature("bench.answer", kwargs=kwargs, options=QUIET) for _ in range(width)]
        group(answers, app=self.app).apply_async()


def as_it_comes() -> Celery:
    """Celery without a line of this project, but for the settings, and a queue of its own."""
    made = Celery("bench", set_as_current=False)
    options = celery_settings(settings, broker_url=broker_url_in_use(settings))
    # Without acknowledgements, a killed worker would lose bare tasks: nothing sends them again.
    options["broker_transport_options"] = {**options["broker_transport_options"], "ack_emulation": True}
    made.config_from_object(options)
    made.conf.task_default_queue = PLAIN_QUEUE
    return made


def without_counting() -> Celery:
    """The app of the turns without the counts for monitoring: the yardstick of `metrics.py`."""
    made = create_worker_app(settings)

    @cache
    def runtime() -> Runtime:
        return replace(
            build_runtime(made, settings, redis_url=redis_url_in_use(settings)), metrics=NoMetrics()
        )

    install_runtime(made, runtime)
    return made


app = counted = create_worker_app(settings)
uncounted = without_counting()
plain = as_it_comes()
ON_TURNS_TRANSPORT = Bare(app)
AS_IT_COMES = Bare(plain)

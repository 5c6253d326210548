"""Bare Celery tasks of the shapes that sessions have: the yardstick of `turns.py`.

They run in the same worker as the turns, with the same settings, and say that they are done in
Redis, because turns keep no results.
"""

from __future__ import annotations

from celery import Celery, group

from symposia.config.settings import load_settings
from symposia.state.connect import connect
from symposia.workers.app import create_app
from symposia.workers.connection import redis_url_in_use

settings = load_settings()
app: Celery = create_app(settings)
redis = connect(redis_url_in_use(settings))

DONE = "bench:done"
QUIET = {"argsrepr": "", "kwargsrepr": "", "ignore_result": True, "add_to_parent": False}


@app.task(name="bench.hop", ignore_result=True)
def hop(*, chain: str, left: int) -> None:
    """Does nothing and sends the next: the shape of turns in sequence."""
    if left > 1:
        app.send_task("bench.hop", kwargs={"chain": chain, "left": left - 1}, **QUIET)
    else:
        redis.incr(DONE)


@app.task(name="bench.answer", ignore_result=True)
def answer(*, chain: str, width: int, left: int) -> None:
    """Does nothing beside others; the last of them sends the next group: the shape of a broadcast."""
    if redis.incr(f"bench:{chain}:{left}") == width:
        if left > 1:
            fan(chain, width, left - 1)
        else:
            redis.incr(DONE)


def fan(chain: str, width: int, left: int) -> None:
    """Sends one group."""
    kwargs = {"chain": chain, "width": width, "left": left}
    group(
        [app.signature("bench.answer", kwargs=kwargs, options=QUIET) for _ in range(width)], app=app
    ).apply_async()

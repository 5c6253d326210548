"""Bare Celery tasks of the shapes that sessions have: the yardstick of `turns.py`.

They run in the same worker as the turns, with the same settings, and say that they are done in
Redis, because turns keep no results.
"""

from __future__ import annotations

from celery import Celery, group

from symposia.config.settings import load_settings
from symposia.state.connect import connect
from symposia.workers.connection import redis_url_in_use
from symposia.workers.making import create_app

settings = load_settings()
app: Celery = create_app(settings)
redis = connect(redis_url_in_use(settings))

DONE = "bench:done"
QUIET = {"argsrepr": "", "kwargsrepr": "", "ignore_result": True, "add_to_parent": False}


def message(chain: str, left: int) -> dict[str, str | int]:
    """Arguments as long as those of a turn."""
    return {"session": chain, "turn": left, "participant": "ann", "mode": "round_robin", "scope": "floor"}


@app.task(name="bench.hop", ignore_result=True)
def hop(*, session: str, turn: int, participant: str, mode: str, scope: str) -> None:
    """Does nothing and sends the next: the shape of turns in sequence."""
    if turn > 1:
        app.send_task("bench.hop", kwargs=message(session, turn - 1), **QUIET)
    else:
        redis.incr(DONE)


@app.task(name="bench.answer", ignore_result=True)
def answer(*, session: str, turn: int, participant: str, mode: str, scope: str, width: int) -> None:
    """Does nothing beside others; the last of them sends the next group: the shape of a broadcast."""
    if redis.incr(f"bench:{session}:{turn}") == width:
        if turn > 1:
            fan(session, width, turn - 1)
        else:
            redis.incr(DONE)


def fan(chain: str, width: int, left: int) -> None:
    """Sends one group."""
    kwargs = {**message(chain, left), "width": width}
    group(
        [app.signature("bench.answer", kwargs=kwargs, options=QUIET) for _ in range(width)], app=app
    ).apply_async()

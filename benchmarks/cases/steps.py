"""What a session costs as a step of a Celery canvas, besides its turns."""

from __future__ import annotations

from collections.abc import Iterator

from harness.errors import BenchmarkError
from harness.loads import agents_of, build_collab
from harness.registry import Bench, case
from harness.results import Measure
from harness.stage import Place, wait_until

from symposia.client.steps.celery_tasks import session
from symposia.client.steps.documents import STEP
from symposia.state.redis.keys import STEPS

_STEPS = 20
#: The first run opens the session, the second one returns its result.
MAX_TASKS = 2


@case("session_step")
def session_step(bench: Bench) -> Iterator[Measure]:
    """Celery tasks of a session that is a step of a canvas, besides its turns: at most two."""
    place = bench.use()
    app = place.leaner.app
    app.symposia_settings = place.settings
    app.finalize()
    agents = agents_of("round_robin")
    step = app.tasks[session.name].s(
        build_collab("round_robin", agents), agents=agents, stop={"max_rounds": 1}
    )
    before = _count_tasks(place)
    for _ in range(_STEPS):
        step.apply_async()
    wait_until(lambda: not place.redis.zcard(STEPS), "the steps end")
    each = (_count_tasks(place) - before) / _STEPS
    if each > MAX_TASKS:
        raise BenchmarkError(f"{each:g} Celery tasks a step, more than {MAX_TASKS}")
    yield bench.exact("Celery tasks of a step", "tasks", each)


def _count_tasks(place: Place) -> int:
    """Return the number of Celery tasks of steps that the workers have received."""
    stats = place.leaner.app.control.inspect(timeout=2).stats() or {}
    return sum(int(worker["total"].get(STEP, 0)) for worker in stats.values())

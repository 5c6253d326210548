"""A short session of a tenant beside the many sessions of another one."""

from __future__ import annotations

from collections.abc import Iterator

from harness.loads import REPEATING, Values, agents_of, build_collab
from harness.registry import Bench, case
from harness.results import Measure
from harness.stage import PATIENCE_S, Place, Setup, wait_until

from cases.storage import timed_ms
from symposia.jobs.collab import CollabJob
from symposia.models.sessions.stop_conditions import MaxTurns

TURNS = 3
#: Seconds of an agent: long next to the time of a turn without one.
AGENT_S = 0.5
THREADS = 4


@case("fairness", short=False)
def fairness(bench: Bench) -> Iterator[Measure]:
    """Time of a session of a tenant beside many sessions of another one; yardstick: without them."""
    place, sizes = bench.use(Setup(concurrency=THREADS)), bench.sizes
    wait_s = min(AGENT_S, sizes.wait_s)

    def alone() -> Values:
        return {"each": _time_small(place, wait_s)}

    def beside() -> Values:
        flood = _submit(place, "large", sizes.active, wait_s)
        wait_until(lambda: any(job.state().closed for job in flood), "the sessions run")
        each = _time_small(place, wait_s)
        wait_until(lambda: place.unfinished() == 0, "the sessions end")
        return {"each": each}

    yield from bench.alternate(f"{TURNS} turns beside {sizes.active} sessions", beside, alone)


def _submit(place: Place, tenant: str, sessions: int, wait_s: float) -> list[CollabJob]:
    agents = agents_of("round_robin", agent="slow")
    request = {
        "agents": agents,
        "stop": MaxTurns(TURNS),
        "options": REPEATING,
        "parameters": {"wait_s": wait_s},
        "tenant": tenant,
    }
    return place.client.submit_many(
        {"collab": build_collab("round_robin", agents), **request} for _ in range(sessions)
    )


def _time_small(place: Place, wait_s: float) -> float:
    """Return the milliseconds of one session of the small tenant."""
    return timed_ms(lambda: _submit(place, "small", 1, wait_s)[0].result(timeout=PATIENCE_S))

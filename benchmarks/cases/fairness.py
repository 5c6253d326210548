"""A short session beside the many sessions of another tenant, or of its own."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from itertools import count

from harness.loads import REPEATING, Values, agents_of, build_collab
from harness.registry import Bench, case
from harness.results import Measure
from harness.stage import PATIENCE_S, Place, Setup, wait_until

from cases.storage import timed_ms
from symposia.jobs.collab import CollabJob
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.tasks.runtime.lanes import LANES, preferred_lane

TURNS = 3
#: Seconds of an agent: long next to the time of a turn without one.
AGENT_S = 0.5
THREADS = 4


Options = Mapping[str, str]
#: Another tenant that would have the lane of the tenant `large` if both were not active.
NEIGHBOUR = next(
    name
    for name in (f"small{number}" for number in count())
    if preferred_lane(name, LANES) == preferred_lane("large", LANES)
)
#: Load -> options of the many sessions, and of the one whose time is measured.
LOADS: Mapping[str, tuple[Options, Options]] = {
    "{} sessions of another tenant": ({"tenant": "large"}, {"tenant": "small"}),
    "{} sessions of a tenant that prefers the same lane": ({"tenant": "large"}, {"tenant": NEIGHBOUR}),
    "{} sessions of its tenant, with high priority": ({"tenant": "a"}, {"tenant": "a", "priority": "high"}),
}


@case("fairness", short=False)
def fairness(bench: Bench) -> Iterator[Measure]:
    """Time of a session beside many other ones; yardstick: without them."""
    place, sizes = bench.use(Setup(concurrency=THREADS)), bench.sizes
    wait_s = min(AGENT_S, sizes.wait_s)
    for load, (many, one) in LOADS.items():

        def alone(one: Options = one) -> Values:
            return {"each": _time_one(place, wait_s, one)}

        def beside(one: Options = one, many: Options = many) -> Values:
            flood = _submit(place, sizes.active, wait_s, many)
            wait_until(lambda: any(job.state().closed for job in flood), "the sessions run")
            each = _time_one(place, wait_s, one)
            wait_until(lambda: place.unfinished() == 0, "the sessions end")
            return {"each": each}

        yield from bench.alternate(f"{TURNS} turns beside {load.format(sizes.active)}", beside, alone)


def _submit(place: Place, sessions: int, wait_s: float, options: Options) -> list[CollabJob]:
    agents = agents_of("round_robin", agent="slow")
    request = {
        "agents": agents,
        "stop": MaxTurns(TURNS),
        "options": REPEATING,
        "parameters": {"wait_s": wait_s},
        **options,
    }
    return place.client.submit_many(
        {"collab": build_collab("round_robin", agents), **request} for _ in range(sessions)
    )


def _time_one(place: Place, wait_s: float, options: Options) -> float:
    """Return the milliseconds of one session."""
    return timed_ms(lambda: _submit(place, 1, wait_s, options)[0].result(timeout=PATIENCE_S))

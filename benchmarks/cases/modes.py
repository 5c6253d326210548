"""Turns per second of each mode, under load and alone, and the time between two turns."""

from __future__ import annotations

from collections.abc import Iterator

from harness.loads import (
    MODES,
    SEQUENTIAL,
    WIDTH,
    Load,
    Values,
    agents_of,
    bare_gaps_ms,
    gaps_ms,
    run_bare,
    submit,
)
from harness.registry import Bench, case
from harness.results import Measure, percentile
from harness.stage import Place, wait_until


@case("modes")
def loaded(bench: Bench) -> Iterator[Measure]:
    """Turns per second of each mode, and the CPU of a turn, with 50 sessions at once."""
    for mode in MODES:
        yield from bench.compare(mode, Load(mode, bench.sizes.sessions, bench.sizes.turns))


@case("alone")
def alone(bench: Bench) -> Iterator[Measure]:
    """Turns per second of each mode with one session and no other load."""
    turns = bench.sizes.alone // WIDTH * WIDTH
    for mode in MODES:
        yield from bench.compare(mode, Load(mode, 1, turns))


@case("latency")
def latency(bench: Bench) -> Iterator[Measure]:
    """Time from the answer of an agent to the call of the next, in one session with no other load."""
    place, turns = bench.use(), bench.sizes.alone
    for mode in SEQUENTIAL:
        load = Load(mode, 1, turns, agents_of(mode, agent="stamp"))
        yield from bench.alternate(
            mode,
            lambda load=load: quantiles(turn_gaps_ms(place, load)),
            lambda: quantiles(bare_gaps_ms(place, turns)),
        )


def turn_gaps_ms(place: Place, load: Load) -> list[float]:
    """Return the milliseconds from each turn of one session to the next."""
    (job,) = submit(place, load)
    wait_until(lambda: job.state().is_final, "the session ends")
    return gaps_ms([int(message.content) for message in job.messages()])


def quantiles(gaps: list[float]) -> Values:
    """Return the median and the 99th percentile."""
    return {"p50": percentile(gaps, 50), "p99": percentile(gaps, 99)}


@case("transport")
def transport(bench: Bench) -> Iterator[Measure]:
    """Bare tasks in the workers of the turns, over their leaner transport."""
    place = bench.use()
    for name, mode in (("in sequence", "round_robin"), ("in groups of 4", "broadcast")):
        load = Load(mode, bench.sizes.sessions, bench.sizes.turns)
        yield from bench.alternate(
            name,
            lambda load=load: run_bare(place, load, leaner=True),
            lambda load=load: run_bare(place, load),
        )

"""Turns per second by the workers: pools, number of processes, Celery events, the archive, and agents that wait."""

from __future__ import annotations

from collections.abc import Iterator
from importlib.util import find_spec

from harness.errors import SkippedCase
from harness.loads import Load, Values, agents_of, run_bare, run_turns
from harness.registry import Bench, case
from harness.results import Measure
from harness.stage import Setup

#: Turns of each session whose agents wait: enough that the time to submit all sessions does not count much.
WAITING_TURNS = 40
#: Pairs of runs: each run takes 80 s with full sizes.
WAITING_REPEATS = 2


def usual_load(bench: Bench) -> Load:
    """Return the load that setups are compared with."""
    return Load("round_robin", bench.sizes.sessions, bench.sizes.turns)


@case("threads", short=False)
def threads(bench: Bench) -> Iterator[Measure]:
    """The pool `threads`, which is the default."""
    yield from bench.compare("8 threads", usual_load(bench), place=bench.use(Setup(pool="threads")))


@case("prefork", short=False)
def prefork(bench: Bench) -> Iterator[Measure]:
    """The pool `prefork`, with two child processes."""
    yield from bench.compare(
        "2 child processes", usual_load(bench), place=bench.use(Setup(pool="processes", concurrency=2))
    )


@case("gevent", short=False)
def gevent(bench: Bench) -> Iterator[Measure]:
    """The pool `gevent`, if it is installed."""
    if find_spec("gevent") is None:
        raise SkippedCase("gevent is not installed")
    yield from bench.compare("8 greenlets", usual_load(bench), place=bench.use(Setup(pool="gevent")))


@case("events", short=False)
def events(bench: Bench) -> Iterator[Measure]:
    """Celery's events on and off, for the turns and for the bare tasks."""
    for name, setup in (("on", Setup()), ("off", Setup(events=False))):
        yield from bench.compare(f"events {name}", usual_load(bench), place=bench.use(setup))


@case("archive", short=False)
def archive(bench: Bench) -> Iterator[Measure]:
    """The archive on and off. Bare tasks leave nothing in an archive."""
    for name, setup in (("on", Setup()), ("off", Setup(archive=False))):
        yield from bench.compare(f"archive {name}", usual_load(bench), place=bench.use(setup))


@case("processes", short=False)
def processes(bench: Bench) -> Iterator[Measure]:
    """Scaling over 1, 2 and 4 worker processes."""
    for count in bench.sizes.processes:
        yield from bench.compare(
            f"{count} processes", usual_load(bench), place=bench.use(Setup(workers=count))
        )


@case("waiting", short=False)
def waiting(bench: Bench) -> Iterator[Measure]:
    """Sessions whose agents take 2 s, with a thread for each: the percentage of the ideal rate."""
    sizes = bench.sizes
    place = bench.use(Setup(concurrency=sizes.waiting // 2, workers=2))
    agents = agents_of("round_robin", agent="slow")
    load = Load("round_robin", sizes.waiting, WAITING_TURNS, agents, wait_s=sizes.wait_s)
    ideal = sizes.waiting / sizes.wait_s

    def percent(values: Values) -> Values:
        return {"ideal": values["rate"] / ideal * 100, "worker": values["worker"]}

    yield from bench.alternate(
        f"{sizes.waiting} sessions of {sizes.wait_s:g} s",
        lambda: percent(run_turns(place, load)),
        lambda: percent(run_bare(place, load)),
        repeats=min(WAITING_REPEATS, sizes.repeats),
    )

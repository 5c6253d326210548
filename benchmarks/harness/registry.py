"""The registry of cases: a decorator for functions that yield measures, and the bench that they get."""

from __future__ import annotations

import statistics
from collections.abc import Callable, Iterator
from dataclasses import dataclass

from harness.loads import Load, Values, run_bare, run_turns, warm_up
from harness.results import Measure
from harness.sizes import Sizes
from harness.stage import Place, Setup, Stage

#: Meaning of the values of runs: name in the table (after the name of the measure), unit, whether more is better.
MEANINGS = {
    "rate": ("", "turns/s", True),
    "worker": ("CPU of the worker", "ms a turn", False),
    "server": ("CPU of the server", "ms a turn", False),
    "ideal": ("", "% of the ideal rate", True),
    "submitted": ("submitted", "a second", True),
    "parked": ("parked", "a second", True),
    "cpu": ("CPU", "s", False),
    "each": ("", "ms each", False),
    "p50": ("p50", "ms", False),
    "p95": ("p95", "ms", False),
    "p99": ("p99", "ms", False),
}


@dataclass(frozen=True)
class Bench:
    """What a case gets: the stage, the sizes, and comparisons with bare Celery in alternation."""

    case: str
    stage: Stage
    sizes: Sizes

    def use(self, setup: Setup | None = None) -> Place:
        """Return the running workers of a setup."""
        return self.stage.use(setup or Setup(), warm_up)

    def alternate(
        self, name: str, ours: Callable[[], Values], bare: Callable[[], Values], *, repeats: int | None = None
    ) -> Iterator[Measure]:
        """Run both in alternation (A B, B A, ...); yield a measure for each value."""
        pairs: list[tuple[Values, Values]] = []
        for number in range(repeats or self.sizes.repeats):
            if number % 2:
                second = bare()
                pairs.append((ours(), second))
            else:
                first = ours()
                pairs.append((first, bare()))
        for key in pairs[0][0]:
            more, unit, is_better = MEANINGS[key]
            values = [(left[key], right[key]) for left, right in pairs]
            left, right = zip(*values, strict=True)
            yield Measure(self.case, " ".join(filter(None, (name, more))), unit, left, right, is_better)

    def compare(self, name: str, load: Load, *, place: Place | None = None) -> Iterator[Measure]:
        """Compare the turns of a load with bare tasks of the same shape."""
        at = place or self.use()
        yield from self.alternate(name, lambda: run_turns(at, load), lambda: run_bare(at, load))

    def exact(self, name: str, unit: str, value: float, *, more_is_better: bool = False) -> Measure:
        """Return a measure that does not depend on the speed of the machine."""
        return Measure(self.case, name, unit, (value,), (), more_is_better)


def median_ratio(measures: list[Measure], name: str) -> float:
    """Return the median ratio of the measure with this name."""
    ratios = [measure.ratio.median for measure in measures if measure.name == name and measure.ratio]
    return statistics.median(ratios)


Run = Callable[[Bench], Iterator[Measure]]


@dataclass(frozen=True)
class Case:
    """A case by name."""

    name: str
    text: str
    run: Run
    #: Whether the case is part of short runs.
    short: bool
    #: Whether it is a program that prints figures of its own.
    program: bool = False
    #: Name of a group of cases, for `--only`.
    group: str = ""


CASES: dict[str, Case] = {}


def case(name: str, *, short: bool = True, program: bool = False, group: str = "") -> Callable[[Run], Run]:
    """Register a case; its text is the first line of the docstring."""

    def register(run: Run) -> Run:
        text = (run.__doc__ or "").splitlines()[0]
        CASES[name] = Case(name, text, run, short, program, group)
        return run

    return register

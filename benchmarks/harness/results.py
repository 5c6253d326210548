"""Results: values of ours and of the yardstick from the same run, their ratios, and the JSON form."""

from __future__ import annotations

import math
import statistics
from collections.abc import Sequence
from dataclasses import asdict, dataclass, field
from typing import Any

#: Version of the JSON form.
FORMAT = 1


def percentile(values: Sequence[float], percent: float) -> float:
    """Return the value below which this percentage of the values lies (nearest rank)."""
    ordered = sorted(values)
    return ordered[max(0, math.ceil(percent * len(ordered) / 100) - 1)]


@dataclass(frozen=True)
class Spread:
    """Median, least and greatest of some values."""

    median: float
    low: float
    high: float

    @classmethod
    def of(cls, values: Sequence[float]) -> Spread:
        """Return the spread of at least one value."""
        return cls(statistics.median(values), min(values), max(values))


@dataclass(frozen=True)
class Measure:
    """One line of the table.

    `bare` has a value of the yardstick, bare Celery or a peer, for each of `ours`, from the same pair of runs; it is empty where a value does not depend on the
    speed of the machine, such as bytes.
    """

    case: str
    name: str
    unit: str
    ours: tuple[float, ...]
    bare: tuple[float, ...] = ()
    #: Whether a greater value is better.
    more_is_better: bool = True

    @property
    def ratio(self) -> Spread | None:
        """The ratios of the pairs; None without bare values."""
        pairs = zip(self.ours, self.bare, strict=True) if self.bare else ()
        ratios = [ours / bare for ours, bare in pairs if bare > 0]
        return Spread.of(ratios) if ratios else None

    @property
    def compared(self) -> Spread:
        """What another run is compared with: the ratio, or the value that does not depend on speed."""
        return self.ratio or Spread.of(self.ours)


@dataclass
class Results:
    """The measures of one run, with the circumstances."""

    size: str
    circumstances: dict[str, Any]
    measures: list[Measure] = field(default_factory=list)
    #: Reasons by case.
    skipped: dict[str, str] = field(default_factory=dict)
    #: What was wrong, by case.
    failed: dict[str, str] = field(default_factory=dict)

    def to_json_data(self) -> dict[str, Any]:
        """Return the results as JSON data."""
        lines = []
        for measure in self.measures:
            ratio = measure.ratio
            lines.append(
                {
                    **asdict(measure),
                    "median": statistics.median(measure.ours),
                    "bare_median": statistics.median(measure.bare) if measure.bare else None,
                    "ratio": asdict(ratio) if ratio else None,
                }
            )
        return {
            "format": FORMAT,
            "size": self.size,
            "circumstances": self.circumstances,
            "measures": lines,
            "skipped": self.skipped,
            "failed": self.failed,
        }

    @classmethod
    def from_json_data(cls, data: dict[str, Any]) -> Results:
        """Read results.

        Raises:
            ValueError: They have another form.
        """
        if data.get("format") != FORMAT:
            raise ValueError(f"format {data.get('format')!r}: this program reads format {FORMAT}")
        measures = [
            Measure(
                entry["case"],
                entry["name"],
                entry["unit"],
                tuple(entry["ours"]),
                tuple(entry["bare"]),
                entry["more_is_better"],
            )
            for entry in data["measures"]
        ]
        return cls(data["size"], data["circumstances"], measures, data["skipped"], data["failed"])


@dataclass(frozen=True)
class Change:
    """A measure of two runs. The spreads are those of ratios, or of values that do not depend on speed."""

    measure: Measure
    before: Spread

    @property
    def factor(self) -> float:
        """The median now, divided by the median before."""
        return self.measure.compared.median / self.before.median if self.before.median else 1.0

    @property
    def verdict(self) -> str:
        """`better` or `worse` if the spreads do not overlap; else `same`."""
        now = self.measure.compared
        if now.low <= self.before.high and self.before.low <= now.high:
            return "same"
        return "better" if (now.median > self.before.median) == self.measure.more_is_better else "worse"


def compare(results: Results, baseline: Results) -> list[Change]:
    """Return the changes of every measure that both runs have."""
    earlier = {
        (measure.case, measure.name): measure.compared for measure in baseline.measures if bool(measure.ours)
    }
    return [
        Change(measure, earlier[measure.case, measure.name])
        for measure in results.measures
        if (measure.case, measure.name) in earlier
    ]

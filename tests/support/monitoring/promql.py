"""An evaluator for the part of PromQL that the alert rules and the dashboard use, over real scrapes.

`rate` and `increase` do not extrapolate to the ends of the range as Prometheus does: they give what was really
counted between the first and the last scrape of the range, which is never more.
"""

from __future__ import annotations

import operator
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import pairwise

from monitoring.scraping import Labels, Scrape

#: An instant vector, or a number.
Vector = dict[Labels, float]
Value = Vector | float
#: Scrapes with their times in seconds, oldest first.
Scrapes = Sequence[tuple[float, Scrape]]

_TOKEN = re.compile(
    r"\s*(?:(?P<number>\d+(?:\.\d+)?(?![\w.]))|(?P<name>[a-zA-Z_]\w*)|(?P<text>\"[^\"]*\")"
    r"|(?P<duration>\[(?:\d+[smh]|\$__rate_interval)\])|(?P<sign>=~|!=|==|>=|<=|[-+*/<>=(){},]))"
)
_UNITS = {"s": 1, "m": 60, "h": 3_600}
#: Grafana replaces this variable by a multiple of the scrape interval.
_VARIABLES = {"$__rate_interval": 60}
_COMPARISONS: dict[str, Callable[[float, float], bool]] = {
    "==": operator.eq,
    "!=": operator.ne,
    ">": operator.gt,
    ">=": operator.ge,
    "<": operator.lt,
    "<=": operator.le,
}
_ARITHMETIC: dict[str, Callable[[float, float], float]] = {"*": operator.mul, "/": operator.truediv}
_AGGREGATIONS: dict[str, Callable[[Sequence[float]], float]] = {"sum": sum, "max": max, "min": min}
_RANGES = ("rate", "increase", "min_over_time")


@dataclass(frozen=True)
class Selector:
    """`name{label="value"}[10m]`; 0 seconds: without a range."""

    name: str
    matchers: tuple[tuple[str, str, str], ...]
    range_s: int

    def matches(self, labels: Labels) -> bool:
        found = dict(labels)
        return all(
            bool(re.fullmatch(text, found.get(label, ""))) if sign == "=~" else found.get(label, "") == text
            for label, sign, text in self.matchers
        )

    def series(self, scrapes: Scrapes, at_s: float) -> dict[Labels, list[float]]:
        within = [it for time_s, it in scrapes if at_s - self.range_s <= time_s <= at_s]
        series: dict[Labels, list[float]] = {}
        for scrape in within if self.range_s else within[-1:]:
            for labels, value in scrape.series(self.name):
                if self.matches(labels):
                    series.setdefault(labels, []).append(value)
        return series


def evaluate(expression: str, scrapes: Scrapes) -> Value:
    """The value of an expression at the time of the newest scrape."""
    return _Evaluator(expression, scrapes).result()


def selectors(expression: str) -> list[Selector]:
    """All selectors of an expression."""
    evaluator = _Evaluator(expression, [])
    evaluator.result()
    return evaluator.selectors


def _tokens(expression: str) -> Iterator[str]:
    at, text = 0, expression.rstrip()
    while at < len(text):
        found = _TOKEN.match(text, at)
        if found is None:
            raise ValueError(f"not in this part of PromQL: {text[at:]!r}")
        yield found[0].strip()
        at = found.end()


class _Evaluator:
    def __init__(self, expression: str, scrapes: Scrapes) -> None:
        self._left = list(_tokens(expression))
        self._scrapes = scrapes
        self._now_s = scrapes[-1][0] if scrapes else 0.0
        self.selectors: list[Selector] = []

    def result(self) -> Value:
        value = self._either()
        if self._left:
            raise ValueError(f"left over: {self._left}")
        return value

    def _next(self) -> str:
        return self._left[0] if self._left else ""

    def _take(self, expected: str = "") -> str:
        token = self._left.pop(0)
        if expected and token != expected:
            raise ValueError(f"expected {expected!r}, got {token!r}")
        return token

    # -- operators, the loosest first --------------------------------------------------------

    def _either(self) -> Value:
        value = self._both()
        while self._next() == "or":
            self._take()
            value = {**_vector(self._both()), **_vector(value)}
        return value

    def _both(self) -> Value:
        value = self._compared()
        while self._next() == "and":
            self._take()
            other = _vector(self._compared())
            value = {labels: number for labels, number in _vector(value).items() if labels in other}
        return value

    def _compared(self) -> Value:
        value = self._product()
        while self._next() in _COMPARISONS:
            holds, other = _COMPARISONS[self._take()], self._product()
            value = {
                labels: number
                for labels, number in _vector(value).items()
                if (right := _partner(other, labels)) is not None and holds(number, right)
            }
        return value

    def _product(self) -> Value:
        value = self._operand()
        while self._next() in _ARITHMETIC:
            combine, other = _ARITHMETIC[self._take()], self._operand()
            value = {
                labels: combine(number, right)
                for labels, number in _vector(value).items()
                if (right := _partner(other, labels))  # 0/0 is not a number, which no comparison accepts
            }
        return value

    # -- operands ----------------------------------------------------------------------------

    def _operand(self) -> Value:
        token = self._take()
        if token == "(":
            value = self._either()
            self._take(")")
            return value
        if token[0].isdigit():
            return float(token)
        if token in _AGGREGATIONS:
            return self._aggregation(_AGGREGATIONS[token])
        if token in _RANGES:
            return self._range(token)
        if token == "histogram_quantile":
            return self._quantile()
        if token == "absent":
            self._take("(")
            value = _vector(self._either())
            self._take(")")
            return {} if value else {frozenset(): 1.0}
        return {labels: values[-1] for labels, values in self._selector(token).items()}

    def _aggregation(self, combine: Callable[[Sequence[float]], float]) -> Vector:
        names = self._names() if self._next() == "by" else ()
        self._take("(")
        groups: dict[Labels, list[float]] = {}
        for labels, number in _vector(self._either()).items():
            groups.setdefault(frozenset(it for it in labels if it[0] in names), []).append(number)
        self._take(")")
        return {labels: combine(numbers) for labels, numbers in groups.items()}

    def _names(self) -> tuple[str, ...]:
        self._take("by")
        self._take("(")
        names = [self._take()]
        while self._next() == ",":
            self._take()
            names.append(self._take())
        self._take(")")
        return tuple(names)

    def _range(self, function: str) -> Vector:
        self._take("(")
        series = self._selector(self._take())
        range_s = self.selectors[-1].range_s
        self._take(")")
        if not range_s:
            raise ValueError(f"{function} needs a range")
        if function == "min_over_time":
            return {labels: min(values) for labels, values in series.items()}
        counted = {labels: _increase(values) for labels, values in series.items() if len(values) > 1}
        divisor = range_s if function == "rate" else 1
        return {labels: number / divisor for labels, number in counted.items()}

    def _quantile(self) -> Vector:
        self._take("(")
        quantile = float(self._take())
        self._take(",")
        buckets: dict[Labels, list[tuple[float, float]]] = {}
        for labels, number in _vector(self._either()).items():
            bound = float(dict(labels)["le"])
            buckets.setdefault(frozenset(it for it in labels if it[0] != "le"), []).append((bound, number))
        self._take(")")
        found = {labels: _interpolate(sorted(rows), quantile) for labels, rows in buckets.items()}
        return {labels: number for labels, number in found.items() if number is not None}

    def _selector(self, name: str) -> dict[Labels, list[float]]:
        matchers: list[tuple[str, str, str]] = []
        if self._next() == "{":
            while self._take() != "}":
                if self._next() != "}":
                    matchers.append((self._take(), self._take(), self._take().strip('"')))
        range_s = 0
        if self._next().startswith("["):
            text = self._take().strip("[]")
            range_s = _VARIABLES.get(text) or int(text[:-1]) * _UNITS[text[-1]]
        self.selectors.append(Selector(name, tuple(matchers), range_s))
        return self.selectors[-1].series(self._scrapes, self._now_s)


def _vector(value: Value) -> Vector:
    return value if isinstance(value, dict) else {frozenset(): value}


def _partner(other: Value, labels: Labels) -> float | None:
    return other.get(labels) if isinstance(other, dict) else other


def _increase(values: Sequence[float]) -> float:
    """A smaller value means that the counter began again at 0."""
    pairs = pairwise(values)
    return sum(after - before if after >= before else after for before, after in pairs)


def _interpolate(buckets: Sequence[tuple[float, float]], quantile: float) -> float | None:
    total = buckets[-1][1]
    if not total:
        return None
    rank, lower, below = quantile * total, 0.0, 0.0
    for bound, count in buckets:
        if count >= rank:
            return (
                lower if bound == float("inf") else lower + (bound - lower) * (rank - below) / (count - below)
            )
        lower, below = bound, count
    return None

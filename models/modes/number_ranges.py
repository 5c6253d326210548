"""Sets of item numbers as sorted ranges: short as JSON if neighbours are in it together. Pure."""

from __future__ import annotations

from bisect import bisect_right
from collections.abc import Iterator

#: Ranges `(first, last)`, in order, without overlap.
Ranges = tuple[tuple[int, int], ...]


def contains(ranges: Ranges, number: int) -> bool:
    """Return whether a number is in the set."""
    at = bisect_right(ranges, number, key=lambda it: it[0]) - 1
    return at >= 0 and number <= ranges[at][1]


def add(ranges: Ranges, number: int) -> Ranges:
    """Return the set with one more number."""
    if contains(ranges, number):
        return ranges
    at = bisect_right(ranges, number, key=lambda it: it[0])
    first, last, low, high = number, number, at, at
    if at > 0 and ranges[at - 1][1] == number - 1:
        first, low = ranges[at - 1][0], at - 1
    if at < len(ranges) and ranges[at][0] == number + 1:
        last, high = ranges[at][1], at + 1
    return (*ranges[:low], (first, last), *ranges[high:])


def remove(ranges: Ranges, number: int) -> Ranges:
    """Return the set without a number."""
    if not contains(ranges, number):
        return ranges
    at = bisect_right(ranges, number, key=lambda it: it[0]) - 1
    first, last = ranges[at]
    rest = tuple(it for it in ((first, number - 1), (number + 1, last)) if it[0] <= it[1])
    return (*ranges[:at], *rest, *ranges[at + 1 :])


def numbers_in(ranges: Ranges) -> Iterator[int]:
    """Yield the numbers of the set in order."""
    return (number for first, last in ranges for number in range(first, last + 1))

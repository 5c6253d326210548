"""Links between work items: which items an item waits for. Pure."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass

from ..text.redact import excerpt
from ..turns.items import NewItem


@dataclass(frozen=True, slots=True)
class ItemLinks:
    """Ids and links of the initial items of a board, by their numbers from 1."""

    #: Id of every item -> its number.
    numbers: Mapping[str, int]
    #: Number -> numbers of the items that it waits for, of items that wait.
    after: Mapping[int, tuple[int, ...]]
    #: Number -> numbers of the items that wait for it.
    dependants: Mapping[int, tuple[int, ...]]

    @classmethod
    def of(cls, items: Sequence[NewItem]) -> ItemLinks:
        """Return the links of items; references to unknown items are left out."""
        numbers = {item.id or str(number): number for number, item in enumerate(items, start=1)}
        after: dict[int, tuple[int, ...]] = {}
        dependants: dict[int, tuple[int, ...]] = {}
        for number, item in enumerate(items, start=1):
            if not item.after:
                continue
            known = (numbers[name] for name in item.after if name in numbers)
            after[number] = tuple(dict.fromkeys(known))
            for other in after[number]:
                dependants[other] = (*dependants.get(other, ()), number)
        return cls(numbers, after, dependants)


def link_faults(
    items: Sequence[NewItem], *, first: int = 1, is_known: Callable[[str], bool] = lambda _: False
) -> Iterator[tuple[int, str, str]]:
    """Yield the faults of items that are added together: index, field (`id` or `after`), rule.

    Args:
        items: The items.
        first: Number of the first of them on the board.
        is_known: Whether an id names an item that is already on the board.
    """
    own: dict[str, int] = {}
    for index, item in enumerate(items):
        name = item.id or str(first + index)
        if name in own or is_known(name):
            yield index, "id", f"must be unique: {name!r} is the id of another item"
        else:
            own[name] = index
    for index, item in enumerate(items):
        unknown = [name for name in item.after if name not in own and not is_known(name)]
        if unknown:
            yield index, "after", f"must name items of the board: {excerpt(unknown[0])!r} is unknown"
    if (circle := _circle(items, own)) is not None:
        names = " -> ".join(items[index].id or str(first + index) for index in (*circle, circle[0]))
        yield from ((index, "after", f"must not form a cycle: {excerpt(names)}") for index in circle)


def _circle(items: Sequence[NewItem], own: Mapping[str, int]) -> tuple[int, ...] | None:
    """Return the indices of items that wait for each other, in order; None: there is no cycle."""
    finished: set[int] = set()
    for start in range(len(items)):
        path: dict[int, Iterator[int]] = {}
        index: int | None = None if start in finished else start
        while index is not None:
            if index in path:
                order = list(path)
                return tuple(order[order.index(index) :])
            if index not in finished:
                path[index] = _references(items[index].after, own)
            index = _advance(path, finished)
    return None


def _references(names: Iterable[str], own: Mapping[str, int]) -> Iterator[int]:
    return iter([own[name] for name in names if name in own])


def _advance(path: dict[int, Iterator[int]], finished: set[int]) -> int | None:
    """Return the next item to visit, after leaving those whose references are all visited; None: the end."""
    while path:
        last = next(reversed(path))
        following = next(path[last], None)
        if following is not None:
            return following
        finished.add(last)
        del path[last]
    return None

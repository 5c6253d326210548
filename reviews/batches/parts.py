"""Results of the parts of an item, merged into the result of the item. Pure."""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from itertools import groupby

from ...models.turns.turn import Usage
from ..values.runs import ItemResult, ItemState

_MAX_ERROR = 500


def merge_parts(results: Iterable[ItemResult]) -> tuple[ItemResult, ...]:
    """Return one result for each item; the parts of an item follow each other."""
    return tuple(_merge(list(parts)) for _, parts in groupby(results, key=lambda it: it.item.key))


def _merge(parts: Sequence[ItemResult]) -> ItemResult:
    first = parts[0]
    if first.item.part is None:
        return first
    state = _state([it.state for it in parts])
    return ItemResult(
        item=first.item.model_copy(update={"part": None}),
        state=state,
        findings=tuple(dict.fromkeys(finding for it in parts for finding in it.findings)),
        session_id=next((it.session_id for it in parts if it.session_id), None),
        usage=sum((it.usage for it in parts), start=Usage()),
        error="; ".join(f"{it.item.part}: {it.error}" for it in parts if it.error)[:_MAX_ERROR],
        summary=" ".join(dict.fromkeys(it.summary for it in parts if it.summary)),
        dropped=sum(it.dropped for it in parts),
        reads=tuple(sorted({read for it in parts for read in it.reads})),
    )


def _state(states: Sequence[ItemState]) -> ItemState:
    """Return the state of an item: it is done only if each of its parts is."""
    for state in (ItemState.FAILED, ItemState.CANCELLED):
        if state in states and not {ItemState.RUNNING, ItemState.WAITING} & set(states):
            return state
    if set(states) == {ItemState.WAITING}:
        return ItemState.WAITING
    return ItemState.DONE if set(states) == {ItemState.DONE} else ItemState.RUNNING

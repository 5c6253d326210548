"""Batches of reviews in Redis, brought on by hand."""

from __future__ import annotations

from collections.abc import Sequence
from hashlib import sha256
from typing import Any

from symposia.models.text.ids import new_id
from symposia.reviews.state.records import BatchHead, Needs
from symposia.reviews.state.store import ReviewStore
from symposia.reviews.values.panels import Panel
from symposia.reviews.values.runs import Item, ItemKind, ItemState

_SEATS = [{"name": "ann", "agent": "echo"}]


def head(**panel: Any) -> BatchHead:
    fields = {"name": "p", "mode": "round_robin", "purpose": "x", "seats": _SEATS, "attempts": 1}
    return BatchHead(
        batch_id=new_id(), root_name="r", panel=Panel.model_validate({**fields, **panel}), panel_sha="s"
    )


def item(number: int) -> Item:
    digest = sha256(str(number).encode()).hexdigest()
    return Item(key=f"f{number}", kind=ItemKind.FILE, path=f"f{number}", sha256=digest, size=1)


def started(store: ReviewStore, count: int, *, needs: Sequence[int] = (), **panel: Any) -> str:
    """Start a batch of items, none of them claimed, and return its id; `needs`: tokens that they need."""
    made = head(**panel)
    starter = store.claim_start(made.batch_id)
    store.open(made, starter)
    for number in range(1, count + 1):
        need = Needs(needs[number - 1]) if needs else Needs()
        store.add(made.batch_id, starter, number, item(number), f"text {number}", needs=need)
    store.start(made, starter, total=count)
    return made.batch_id


def settle(
    store: ReviewStore,
    batch: str,
    number: int,
    outcome: ItemState = ItemState.DONE,
    *,
    spent: tuple[int, int] = (0, 0),
) -> str:
    """Writes a result of an item's newest attempt."""
    return store.record_result(store.item(batch, number), batch, outcome, "{}", spent=spent)[0]

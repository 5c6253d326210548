"""What the store has of a batch review, as values."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass

from pydantic import Field, JsonValue

from ..models.ids import Id
from ..models.review.items import Item, Skipped
from ..models.review.panels import Panel
from ..models.review.runs import ItemState
from ..models.turn import Frozen

#: Items of a batch.
MAX_ITEMS = 10_000
#: Bytes of text that a batch may keep until its sessions are opened.
MAX_TEXT_BYTES = 268_435_456


class BatchHead(Frozen):
    """What a batch is: written when it is handed over."""

    batch_id: Id
    root_name: str
    #: What the root is known again by; empty: its name.
    root: str = ""
    #: The panel, with everybody seated.
    panel: Panel
    panel_sha: str
    skipped: tuple[Skipped, ...] = ()
    #: Whether it is about all of the root.
    is_whole: bool = False
    #: The git revision that is reviewed.
    revision: str = ""
    #: For whoever is told of its end: names of what the settings of the workers know, never more.
    then: dict[str, JsonValue] = Field(default_factory=dict)


@dataclass(frozen=True, slots=True)
class BatchView:
    """How far a batch is."""

    batch_id: str
    #: opening, running, stopping, completed, partial, cancelled or failed.
    state: str
    total: int
    waiting: int
    running: int
    done: int
    failed: int
    unchanged: int
    cancelled: int
    spent_tokens: int
    spent_cost_micros: int
    started_ms: int
    ended_ms: int | None
    #: Why it was stopped.
    reason: str

    @property
    def has_ended(self) -> bool:
        """Whether it has been reported, too."""
        return self.state not in ("opening", "running", "stopping")

    @property
    def settled(self) -> int:
        """Items that nothing more comes of."""
        return self.done + self.failed + self.unchanged + self.cancelled


@dataclass(frozen=True, slots=True)
class ItemRecord:
    """One item of a batch."""

    number: int
    item: Item
    state: ItemState
    #: Of its sessions, the newest.
    attempt: int
    #: What its session may spend; None: there is no limit.
    tokens: int | None
    cost_micros: int | None
    #: The `ItemResult` of its newest attempt that has ended, as JSON.
    result: str | None


def batch_view(batch_id: str, fields: Mapping[str, str], *, waiting: int, running: int) -> BatchView:
    """The view of a batch from its hash."""

    def number(name: str) -> int:
        return int(fields.get(name) or 0)

    return BatchView(
        batch_id=batch_id,
        state=fields["state"],
        total=number("total"),
        waiting=waiting,
        running=running,
        done=number("done"),
        failed=number("failed"),
        unchanged=number("unchanged"),
        cancelled=number("cancelled"),
        spent_tokens=number("spent_tokens"),
        spent_cost_micros=number("spent_cost"),
        started_ms=number("started_ms"),
        ended_ms=number("ended_ms") or None,
        reason=fields.get("reason", ""),
    )

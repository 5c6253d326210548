"""Estimate of a review before it starts: sessions, tokens and cost of each item."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...models.sessions.known_agents import ReaderModel
from ..archive.access import known_results
from ..chunks.planner import ItemPlan
from ..chunks.project import Project
from ..panels import panel_sha
from ..values.panels import Panel, readers_of
from ..values.runs import ReadItem, SkippedItem
from .request import ReviewRequest, is_read_by_models, planner_of, session_needs, without_missing_tools

if TYPE_CHECKING:
    from ...archive.archive import Archive

#: Number of items looked up in the archive at once.
_CHUNK = 100


@dataclass(frozen=True, slots=True)
class ItemEstimate:
    """What one item needs; an unchanged item needs no session."""

    path: str
    #: Number of chunks that models read.
    chunks: int
    sessions: int
    #: Estimated tokens of all requests to models, with their answers.
    tokens: int
    #: Millionths of a US dollar; None: the price of a model is not in the registry.
    cost_micros: int | None
    is_unchanged: bool = False


@dataclass(frozen=True, slots=True)
class ReviewEstimate:
    """What a review needs; one request for each model and chunk is assumed."""

    panel: Panel
    items: tuple[ItemEstimate, ...]
    skipped: tuple[SkippedItem, ...]

    @property
    def sessions(self) -> int:
        """Number of sessions."""
        return sum(it.sessions for it in self.items)

    @property
    def tokens(self) -> int:
        """Estimated tokens."""
        return sum(it.tokens for it in self.items)

    @property
    def cost_micros(self) -> int | None:
        """Estimated cost in millionths of a US dollar; None: a price is not known."""
        costs = [it.cost_micros for it in self.items]
        return None if None in costs else sum(it or 0 for it in costs)


def estimate_review(
    order: ReviewRequest, archive: Archive | None, *, known_agents: Iterable[str]
) -> ReviewEstimate:
    """Return what a review needs.

    Args:
        order: The request; its `models` are those that the estimate knows.
        archive: The archive, for items that have not changed; None: there is none.
        known_agents: Names of all registered agents.

    Raises:
        InvalidInput: The source cannot be read.
        ArchiveUnavailable: The archive does not answer.
    """
    order, _ = without_missing_tools(order)
    readers = readers_of(order.panel, order.models, known_agents=known_agents)
    project = Project(order.panel, order.folder)
    planner, skipped, plans = (
        planner_of(order, readers, project),
        list(order.settings.notes),
        list[ItemPlan](),
    )
    for it in order.source:
        if isinstance(it, ReadItem) and order.panel.reviews(it.item.path) and it.text.strip():
            plan = planner.plan(it)
            plans.append(plan)
            skipped += plan.skipped
        elif isinstance(it, SkippedItem):
            skipped.append(it)
    sha, known = panel_sha(order.panel, readers, order.programs), set[str]()
    for first in range(0, 0 if order.everything else len(plans), _CHUNK):
        known |= known_results(
            archive, sha, (it.item for it in plans[first : first + _CHUNK]), files=project.readable_files
        ).keys()
    return ReviewEstimate(
        order.panel,
        tuple(_estimate(plan, order.panel, readers, is_unchanged=plan.item.key in known) for plan in plans),
        tuple(skipped),
    )


def _estimate(
    plan: ItemPlan, panel: Panel, readers: Mapping[str, ReaderModel], *, is_unchanged: bool
) -> ItemEstimate:
    if is_unchanged:
        return ItemEstimate(plan.item.path, 0, 0, 0, 0, is_unchanged=True)
    needs = [session_needs(it, panel, readers) for it in plan.sessions]
    costs = [cost for _, cost in needs]
    return ItemEstimate(
        plan.item.path,
        chunks=sum(is_read_by_models(it, readers) for it in plan.sessions),
        sessions=len(plan.sessions),
        tokens=sum(tokens for tokens, _ in needs),
        cost_micros=None if None in costs else sum(it or 0 for it in costs),
    )

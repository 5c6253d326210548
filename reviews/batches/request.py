"""Request for a batch: what to review, the panel that reviews it, its tools and sessions, and what these need."""

from __future__ import annotations

from collections.abc import Container, Iterable, Mapping, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import TYPE_CHECKING

from pydantic import JsonValue

from ...models.sessions.known_agents import ReaderModel
from ...models.text.ids import new_id
from ..archive.access import known_results
from ..chunks.planner import ItemPlan, PlannedSession, SessionPlanner
from ..chunks.project import Project
from ..panels import UNNAMED_PROGRAMS, missing_tools, panel_sha
from ..values.changes import ChangeDescription
from ..values.panels import Panel, PanelTool, readers_of
from ..values.runs import Item, ReadItem, SkippedItem
from ..values.tool_settings import ToolSettings
from .needs import check_seats, is_read_by_models, session_needs

if TYPE_CHECKING:
    from ...archive.archive import Archive


@dataclass(frozen=True, slots=True)
class ReviewRequest:
    """What to review, and the panel that reviews it."""

    #: Name of the root: a configured name, or that of the folder.
    root_name: str
    #: The panel, with an agent in every seat (`Panel.with_model`).
    panel: Panel
    source: Iterable[ReadItem | SkippedItem]
    #: True: include items that have not changed since this panel reviewed them last.
    everything: bool = False
    #: True if the source covers the whole root.
    is_whole: bool = False
    #: Reviewed git revision, and its branch.
    revision: str = ""
    branch: str = ""
    #: Scope of the run (`scope_of`); empty: no review since the last one continues it.
    scope: str = ""
    #: Branch whose last runs decide which findings are new; empty: the last runs of any branch.
    against: str = ""
    #: Web address of the repository, and the root's folder in it; empty: not known.
    repository_url: str = ""
    repository_folder: str = ""
    batch_id: str = field(default_factory=new_id)
    #: Identity of the root, to find earlier runs; empty: its name.
    root: str = ""
    #: Settings of the reviewed project for ruff and bandit.
    settings: ToolSettings = ToolSettings()  # noqa: RUF009 - frozen
    #: Options of the deliveries at the end.
    then: Mapping[str, JsonValue] = field(default_factory=dict)
    #: Model agents by name, beside those that workers announce.
    models: Mapping[str, ReaderModel] = field(default_factory=dict)
    #: Identities of agents that run programs, by name, beside those that workers announce.
    programs: Mapping[str, str] = field(default_factory=dict)
    #: Folder of the items, from which models are shown rules and callers; None: there is none.
    folder: Path | None = None
    #: What is said of the change that is reviewed; None: whole items are reviewed.
    change: ChangeDescription | None = None


def without_missing_tools(order: ReviewRequest) -> tuple[ReviewRequest, tuple[PanelTool, ...]]:
    """Return the request without tools that are not installed on this machine, and those to name in reports."""
    missing = missing_tools(order.panel)
    absent = tuple(
        tool for tool in order.panel.tools if tool.agent in missing and tool.agent not in UNNAMED_PROGRAMS
    )
    return replace(order, panel=order.panel.without_tools(missing)), absent


def planner_of(order: ReviewRequest, readers: Mapping[str, ReaderModel], project: Project) -> SessionPlanner:
    """Return the planner of a batch's sessions."""
    return SessionPlanner(order.panel, readers, project, order.settings, order.change)


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
    """What a review needs: the expected requests of each model and chunk."""

    panel: Panel
    items: tuple[ItemEstimate, ...]
    skipped: tuple[SkippedItem, ...]

    @property
    def sessions(self) -> int:
        """Number of sessions."""
        return sum(item.sessions for item in self.items)

    @property
    def tokens(self) -> int:
        """Estimated tokens."""
        return sum(item.tokens for item in self.items)

    @property
    def cost_micros(self) -> int | None:
        """Estimated cost in millionths of a US dollar; None: a price is not known."""
        costs = [item.cost_micros for item in self.items]
        return None if None in costs else sum(cost or 0 for cost in costs)


def estimate_review(
    order: ReviewRequest, archive: Archive | None, *, known_agents: Iterable[str]
) -> ReviewEstimate:
    """Return what a review needs, with `order.models` as models. Raises InvalidInput, ArchiveUnavailable."""
    order, _ = without_missing_tools(order)
    readers = readers_of(order.panel, order.models, known_agents=known_agents)
    check_seats(order.panel, readers)
    project = Project(order.panel, order.folder)
    planner = planner_of(order, readers, project)
    skipped, plans = list(order.settings.notes), list[ItemPlan]()
    for entry in order.source:
        if (
            isinstance(entry, ReadItem)
            and order.panel.reviews(entry.item.typed_path)
            and is_reviewable(entry)
        ):
            plan = planner.plan(entry)
            plans += [plan] if plan.sessions or plan.changed else []
            skipped += plan.skipped
        elif isinstance(entry, SkippedItem):
            skipped.append(entry)
    sha = panel_sha(order.panel, readers, order.programs)
    cached: Container[str] = ()
    if plans and not order.everything:
        cached = known_results(archive, sha, [plan.item for plan in plans], files=project.readable_files)
    wanted = [plan for plan in plans if plan.item.key not in cached]
    changed = [file for plan in wanted for file in plan.changed]
    together = planner.together(changed, [plan.item for plan in plans], skipped)
    sessions = {plan.item.key: list(plan.sessions) for plan in wanted}
    for session in together:  # counted for the first of its files
        sessions[session.item.members[0].key].append(session)
    return ReviewEstimate(
        order.panel,
        tuple(_estimate(plan.item, sessions.get(plan.item.key), order.panel, readers) for plan in plans),
        tuple(skipped),
    )


def is_reviewable(read: ReadItem) -> bool:
    """Return whether there is something to review: text, or removed lines."""
    return bool(read.text.strip() or read.hunks)


def _estimate(
    item: Item,
    sessions: Sequence[PlannedSession] | None,
    panel: Panel,
    readers: Mapping[str, ReaderModel],
) -> ItemEstimate:
    """Return what an item needs. `sessions`: None if its result is known."""
    if sessions is None:
        return ItemEstimate(item.path, 0, 0, 0, 0, is_unchanged=True)
    needs = [session_needs(session, panel, readers) for session in sessions]
    costs = [cost for _, cost in needs]
    return ItemEstimate(
        item.path,
        chunks=sum(is_read_by_models(session.item, readers) for session in sessions),
        sessions=len(sessions),
        tokens=sum(tokens for tokens, _ in needs),
        cost_micros=None if None in costs else sum(cost or 0 for cost in costs),
    )

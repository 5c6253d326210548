"""Request for a batch: what to review, the panel that reviews it, and its tools and sessions."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import JsonValue

from ...models.sessions.known_agents import ReaderModel
from ...models.text.ids import new_id
from ..chunks.planner import SessionPlanner
from ..chunks.project import Project
from ..panels import missing_tools
from ..values.panels import Panel, PanelTool
from ..values.runs import ReadItem, SkippedItem
from ..values.tool_settings import ToolSettings


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


def without_missing_tools(order: ReviewRequest) -> tuple[ReviewRequest, tuple[PanelTool, ...]]:
    """Return the request without tools that are not installed on this machine, and these tools."""
    missing = missing_tools(order.panel)
    absent = tuple(tool for tool in order.panel.tools if tool.agent in missing)
    return replace(order, panel=order.panel.without_tools(missing)), absent


def planner_of(order: ReviewRequest, readers: Mapping[str, ReaderModel], project: Project) -> SessionPlanner:
    """Return the planner of a batch's sessions."""
    return SessionPlanner(order.panel, readers, project.sections, order.settings)

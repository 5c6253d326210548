"""Request for a batch: what to review, the panel that reviews it, its tools and sessions, and what these need."""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from pathlib import Path

from pydantic import JsonValue

from ...models.sessions.known_agents import ReaderModel
from ...models.text.ids import new_id
from ..chunks.planner import PlannedSession, SessionPlanner, session_tokens
from ..chunks.project import Project
from ..panels import missing_tools
from ..state.records import Needs
from ..values.panels import Panel, PanelTool
from ..values.runs import PartReaders, ReadItem, SkippedItem
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


#: Tokens of a system prompt, and of an answer whose length is not limited.
_PROMPT_TOKENS, _ANSWER_TOKENS = 300, 800


def is_read_by_models(session: PlannedSession, readers: Mapping[str, ReaderModel]) -> bool:
    """Return whether models take part in a session."""
    part = session.item.part
    return bool(readers) and (part is None or part.readers is not PartReaders.PROGRAMS)


def session_needs(
    session: PlannedSession, panel: Panel, readers: Mapping[str, ReaderModel]
) -> tuple[int, int | None]:
    """Return the tokens and the cost in millionths of a US dollar; None: a price is not in the registry."""
    if not is_read_by_models(session, readers):
        return 0, 0
    asked = session_tokens(session) + _PROMPT_TOKENS
    tokens, cost = 0, 0.0
    is_priced = True
    for seat, model in readers.items():
        answer = _answer_tokens(panel, seat)
        tokens += asked + answer
        is_priced &= not (model.input_usd_per_million is None and model.output_usd_per_million is None)
        cost += asked * (model.input_usd_per_million or 0.0) + answer * (model.output_usd_per_million or 0.0)
    return tokens, round(cost) if is_priced else None


def limited_needs(session: PlannedSession, panel: Panel, readers: Mapping[str, ReaderModel]) -> Needs:
    """Return what is set aside for a session: 1 of what is not known."""
    tokens, cost = session_needs(session, panel, readers)
    return Needs(max(tokens, 1), max(cost or 1, 1))


def _answer_tokens(panel: Panel, seat: str) -> int:
    return next((it.max_tokens for it in panel.seats if it.name == seat), None) or _ANSWER_TOKENS

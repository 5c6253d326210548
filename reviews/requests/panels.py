"""Panel of a request: an agent for every seat, and the settings of the reviewed project for its programs."""

from __future__ import annotations

from collections.abc import Sequence
from pathlib import Path

from ...models.errors import UnknownAgent
from ..panels import find_panel, uses_project_settings
from ..sources.files import list_files
from ..sources.project_settings import read_given_settings, read_project_settings
from ..values.panels import Panel
from ..values.tool_settings import ToolSettings


def resolve_panel(
    name: str, model: str | None, panels_file: Path | None, *, known_agents: frozenset[str]
) -> Panel:
    """Return the panel with an agent in every seat.

    Raises InvalidInput; UnknownAgent if `known_agents` is not empty and lacks one of the agents.
    """
    panel = find_panel(name, panels_file).with_model(model)
    for agent in panel.agents:
        if known_agents and agent not in known_agents:
            raise UnknownAgent(agent, known=known_agents, field=f"panel {panel.name}")
    return panel


def project_settings(panel: Panel, root: Path, config: Sequence[str | Path] | None = None) -> ToolSettings:
    """Return the settings with which the programs of a panel review the files of a root.

    `config`: files that replace those of the project; None: the project's own; empty: none.

    Raises:
        InvalidInput: A file of `config` has no settings.
    """
    if config is None and not uses_project_settings(panel):
        return ToolSettings()
    files = list(list_files(root))
    if config is None:
        return read_project_settings(root, files)
    return read_given_settings([Path(it) for it in config], files)

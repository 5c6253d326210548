"""Panels by name: built-in panels, and panels of a file; and the settings of the reviewed project for their programs."""

from __future__ import annotations

import re
import shutil
import subprocess
from collections.abc import Mapping, Sequence
from functools import cache
from importlib.metadata import PackageNotFoundError, version
from pathlib import Path
from types import MappingProxyType
from typing import Any

from pydantic import ValidationError

from ..models.errors import InvalidInput, UnknownAgent, invalid_input
from ..models.sessions.known_agents import ReaderModel
from ..models.text.nearest import nearest_names
from ..models.text.paths import TomlFileError, read_toml
from .sources.files import list_files
from .sources.project_settings import read_given_settings, read_project_settings
from .values.panels import Panel
from .values.tool_settings import ToolSettings

#: File in the working folder, used if no file is named.
DEFAULT_FILE = Path("panels.toml")
_SHIPPED = Path(__file__).with_name("panels.toml")
#: Programs whose version affects the findings of a panel, by the agents that run them.
_PROGRAMS = {"ruff": ("ruff",), "bandit": ("bandit",), "inspector": ("bandit", "ruff")}
#: Built-in agents whose program may be missing on this machine: then their tools are left out.
OPTIONAL_PROGRAMS = (
    "shellcheck",
    "eslint",
    "oxlint",
    "revive",
    "hadolint",
    "sqlfluff",
    "gitleaks",
    "codespell",
)

#: Programs for files of any kind: reports do not say of each file that they are not installed.
UNNAMED_PROGRAMS = frozenset({"gitleaks"})
#: Maximum seconds in which a program prints its version.
_VERSION_TIMEOUT_S = 10


def program_versions() -> dict[str, str]:
    """Return the versions of the installed programs that review code, by name, in one line each."""
    versions = {name: _version(name) for name in ("ruff", "bandit")}
    for name in OPTIONAL_PROGRAMS:
        if (program := shutil.which(name)) is not None:
            versions[name] = _printed_version(program)
    return {name: found for name, found in versions.items() if found != "none"}


def _printed_version(program: str) -> str:
    """Return the first number with a dot in what a program prints as its version."""
    try:
        done = subprocess.run(
            [program, "--version"], capture_output=True, timeout=_VERSION_TIMEOUT_S, check=False
        )
    except (OSError, subprocess.SubprocessError):
        return "cannot be run"
    match = re.search(rb"\d+\.\d[\w.]*", done.stdout + done.stderr)
    return match[0].decode() if match else "unknown version"


def load_panels(path: Path | None = None) -> dict[str, Panel]:
    """Return all panels by name: those of the file override the built-in ones.

    `path`: the file. None: `panels.toml` in the working folder, if it exists.

    Raises:
        InvalidInput: The file is missing, is not TOML, or a panel in it breaks a rule; the message names it.
    """
    if path is None and DEFAULT_FILE.is_file():
        path = DEFAULT_FILE
    return {**_shipped(), **(_read(path) if path is not None else {})}


def find_panel(name: str, path: Path | None = None) -> Panel:
    """Return the panel of that name. Raises InvalidInput, as `load_panels`, or with a list of the panels."""
    panels = load_panels(path)
    if name not in panels:
        raise InvalidInput("panel", name, f"must be a panel: {nearest_names(name, panels)}")
    return panels[name]


def panel_sha(
    panel: Panel,
    readers: Mapping[str, ReaderModel] = MappingProxyType({}),
    programs: Mapping[str, str] = MappingProxyType({}),
) -> str:
    """Return the key of a panel's stored findings.

    It includes the program versions on this machine, `readers`: the models in its seats, and `programs`: the
    identities of agents that run programs, by name.
    """
    names = {"symposia", *(program for agent in panel.agents for program in _PROGRAMS.get(agent, ()))}
    models = (
        f"{seat}: {reader.model} {reader.identity} {reader.context_tokens}"
        for seat, reader in readers.items()
    )
    identities = (f"{agent}: {programs[agent]}" for agent in panel.agents if agent in programs)
    return panel.sha(*(f"{name} {_version(name)}" for name in names), *models, *identities)


def missing_tools(panel: Panel) -> tuple[str, ...]:
    """Return the agents of the panel's tools whose program is not installed on this machine."""
    agents = (tool.agent for tool in panel.tools if tool.agent in OPTIONAL_PROGRAMS)
    return tuple(agent for agent in agents if shutil.which(agent) is None)


def uses_project_settings(panel: Panel) -> bool:
    """Return whether a program of the panel reads the settings of the reviewed project."""
    return not _PROGRAMS.keys().isdisjoint(panel.agents)


@cache
def _version(name: str) -> str:
    try:
        return version(name)
    except PackageNotFoundError:
        return "none"


@cache
def _shipped() -> Mapping[str, Panel]:
    return _read(_SHIPPED)


def _read(path: Path) -> dict[str, Panel]:
    try:
        tables = read_toml(path)
    except TomlFileError as error:
        raise InvalidInput(str(path), path.name, error.rule) from None
    return {name: _panel(name, table, path) for name, table in tables.items()}


def _panel(name: str, table: Any, path: Path) -> Panel:
    where = f"{path}: [{name}]"
    if not isinstance(table, dict):
        raise InvalidInput(where, table, "must be a table with the fields of a panel")
    try:
        return Panel.model_validate({**table, "name": name})
    except ValidationError as error:
        raise invalid_input(error, where) from None


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
    return read_given_settings([Path(path) for path in config], files)

"""Base class and field types of the tables of an agents file, and problems found by preflight checks.

Preflight checks find problems of a valid entry on this machine, before a turn fails.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import Annotated
from urllib.parse import urlsplit

from pydantic import AfterValidator, BaseModel, ConfigDict, Field


def _http_url(url: str) -> str:
    parts = urlsplit(url)
    if parts.scheme not in ("http", "https") or not parts.hostname:
        raise ValueError("must be a URL such as http://localhost:8000/v1")
    if parts.username or parts.password:
        raise ValueError("must not contain credentials; set a variable name for them instead")
    return url


def _variable(name: str) -> str:
    if not (name.isascii() and name.isidentifier()):
        raise ValueError("must be the name of an environment variable, not the key itself")
    return name


def _callable_path(path: str) -> str:
    sides = path.split(":")
    if len(sides) != 2 or not all(part.isidentifier() for side in sides for part in side.split(".")):
        raise ValueError("must be module:name, such as my_project.agents:lint")
    return path


def _module_name(name: str) -> str:
    if not all(part.isidentifier() for part in name.split(".")):
        raise ValueError("must be the name of a module, such as my_project.agents")
    return name


HttpUrl = Annotated[str, AfterValidator(_http_url)]
VariableName = Annotated[str, AfterValidator(_variable)]
CallablePath = Annotated[str, AfterValidator(_callable_path)]
ModuleName = Annotated[str, AfterValidator(_module_name)]
Tokens = Annotated[int, Field(ge=1, le=10_000_000)]
Window = Annotated[int, Field(ge=0, le=10_000)]


class EntryBase(BaseModel):
    """Base of the tables of an agents file."""

    model_config = ConfigDict(frozen=True, extra="forbid", hide_input_in_errors=True)


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A field and the rule that it breaks on this machine."""

    field: str
    rule: str
    #: Table of the field, such as `models.house`; empty: the agent's own table.
    table: str = ""


@dataclass(frozen=True, slots=True)
class AgentProblem:
    """A reason why a registered agent would fail, found by `Registry.check`."""

    #: Path of the agents file; empty for built-in agents.
    file: str
    #: Name of the table, such as `agents.coder`; empty: the top of the file.
    entry: str
    field: str
    rule: str

    def __str__(self) -> str:
        place = f"{self.file}: " if self.file else ""
        table = f"[{self.entry}] " if self.entry else ""
        return f"{place}{table}{self.field}: {self.rule}"

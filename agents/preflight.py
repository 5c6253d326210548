"""Problems of a registry entry that can be parsed, found before a turn fails."""

from __future__ import annotations

from dataclasses import dataclass


@dataclass(frozen=True, slots=True)
class FieldProblem:
    """A field, and the rule it breaks on this machine."""

    field: str
    rule: str
    #: The table of the problem, such as `models.house`; empty: the agent's own.
    table: str = ""


@dataclass(frozen=True, slots=True)
class AgentProblem:
    """Why a registered agent would fail; found by `Registry.check`."""

    #: The agents file; empty for agents that are built in.
    file: str
    #: A table, such as `agents.coder`.
    entry: str
    field: str
    rule: str

    def __str__(self) -> str:
        place = f"{self.file}: " if self.file else ""
        return f"{place}[{self.entry}] {self.field}: {self.rule}"

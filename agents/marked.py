"""`@symposia.agent("ada")`: agents that modules mark in their code. The agents file names the modules.

    @symposia.agent("ada")
    def ada(turn): ...

    symposia.agent("ben")(Agent("openai:gpt-4o"))        # an agent of pydantic-ai

Marking has no effect until an agents file names the module: `modules = ["my_agents"]`.
"""

from __future__ import annotations

import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from types import FrameType
from typing import TypeVar

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ..models.errors import InvalidInput, invalid_input
from ..models.sessions.options import AgentName
from .entry_base import Window

T = TypeVar("T")


class MarkOptions(BaseModel):
    """Arguments of `agent`."""

    model_config = ConfigDict(frozen=True)

    name: AgentName
    description: str = ""
    window: Window = 100
    guards: tuple[str, ...] = Field(default=(), max_length=100)


@dataclass(frozen=True, slots=True)
class MarkedAgent:
    """A function, a class or an object that is an agent."""

    given: object
    options: MarkOptions
    #: Name of the module that marks it, and the line.
    module: str
    line: int

    @property
    def place(self) -> str:
        """Return where it is marked, for messages."""
        return f"module {self.module}, line {self.line}"


#: Marked agents by module, in their order.
_marked: dict[str, list[MarkedAgent]] = {}


def agent(
    name: str, *, description: str = "", window: int = 100, guards: Sequence[str] = ()
) -> Callable[[T], T]:
    """Mark a function, a class or an object as the agent `name`; it is returned unchanged.

    Workers know the agent if their agents file names the module: `modules = ["my_agents"]`. `run_local` takes the
    same functions and objects. A class is created without arguments.

    Args:
        name: Name of the agent.
        description: Description for lists of agents. Empty: the name of the function or class.
        window: Maximum number of messages shown to the agent.
        guards: Names of `[guards]` tables of the agents file, which check the agent's turns in this order.

    Raises:
        InvalidInput: An argument breaks a rule.
    """
    if not isinstance(name, str):
        raise InvalidInput("name", name, 'must be text: write @symposia.agent("NAME")')
    try:
        options = MarkOptions.model_validate(
            {"name": name, "description": description, "window": window, "guards": guards}
        )
    except ValidationError as error:
        raise invalid_input(error) from None
    frame = sys._getframe(1)  # noqa: SLF001 - the module that calls: an object does not know in which one it is marked
    module, line = _place_of(frame)

    def mark(given: T) -> T:
        # A module that is executed again marks its agents again.
        others = [it for it in _marked.get(module, ()) if (it.options.name, it.line) != (name, line)]
        _marked[module] = [*others, MarkedAgent(given, options, module, line)]
        return given

    return mark


def _place_of(frame: FrameType) -> tuple[str, int]:
    return str(frame.f_globals.get("__name__", "")), frame.f_lineno


def marked_in(module: str) -> list[MarkedAgent]:
    """Return the agents that a module marks, with those of the modules inside it."""
    inside = [name for name in _marked if name == module or name.startswith(f"{module}.")]
    return [it for name in inside for it in _marked[name]]


def forget_unloaded() -> None:
    """Forget the agents of modules that are not loaded, such as those whose import failed."""
    for name in [name for name in _marked if name not in sys.modules]:
        del _marked[name]


def find_mark(given: object) -> MarkedAgent | None:
    """Return the last mark of an object, if it has one."""
    found = [it for marks in list(_marked.values()) for it in marks if it.given is given]
    return found[-1] if found else None

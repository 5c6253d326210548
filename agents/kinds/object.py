"""Agents that are Python objects: given to `run_local`, or marked in a module that the agents file names.

    @symposia.agent("ada")
    def ada(turn): ...

    symposia.agent("ben")(Agent("openai:gpt-4o"))        # an agent of pydantic-ai

Marking has no effect until an agents file names the module: `modules = ["my_agents"]`.

| object | call |
|---|---|
| an agent of this package, with `speak`, `speak_now` or `speak_with_services` | as it is |
| a pydantic-ai `Agent` | `run(prompt)` |
| a LangGraph graph with the state `messages` | `ainvoke({"messages": [("user", prompt)]})`; its last message |
| a LangChain runnable | `ainvoke(prompt)`; the text or message that it returns |
| an `Agent` of the OpenAI Agents SDK | `Runner.run(agent, prompt)` |
| a class | as its object, which is created without arguments |
| a callable whose only parameter has the annotation `str` | with the prompt |
| any other callable | with the `TurnContext`, as of kind `python` |

The prompt contains the form of an answer, the task, the dialog that the participant may see, and the request of the
turn. The answer is read like that of a model: `NEXT:`, `DONE:`, `PASS` and the other directives count.
`foreign.py` recognises the libraries.
"""

from __future__ import annotations

import inspect
import sys
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from types import FrameType
from typing import Any, Literal, TypeVar, cast

from pydantic import BaseModel, ConfigDict, Field, ValidationError

from ...models.errors import InvalidInput, invalid_input
from ...models.prompts.layout import build_prompt, dialog_of, format_message
from ...models.sessions.agent_queues import AgentQueueName
from ...models.sessions.options import AgentBinding, AgentName
from ...models.turns.streaming import output_of_turn
from ...models.turns.turn import TurnContext, TurnOutcome
from ..agent import AnyAgent
from ..entry import AgentKind, KindEnv
from ..execution.failures import to_agent_error
from ..execution.threads import DaemonThreadPool
from ..tables import Window
from .foreign import AskFunction, ask_function
from .python import PythonAgent, to_outcome

T = TypeVar("T")


class MarkOptions(BaseModel):
    """Arguments of `agent`."""

    model_config = ConfigDict(frozen=True)

    name: AgentName
    description: str = ""
    window: Window = 100
    guards: tuple[str, ...] = Field(default=(), max_length=100)
    queue: AgentQueueName | None = None


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
    name: str,
    *,
    description: str = "",
    window: int = 100,
    guards: Sequence[str] = (),
    queue: str | None = None,
) -> Callable[[T], T]:
    """Mark a function, a class or an object as the agent `name`; it is returned unchanged.

    Workers know the agent if their agents file names the module: `modules = ["my_agents"]`. `run_local` takes the
    same functions and objects. A class is created without arguments.

    Args:
        name: Name of the agent.
        description: Description for lists of agents. Empty: the name of the function or class.
        window: Maximum number of messages shown to the agent.
        guards: Names of `[guards]` tables of the agents file, which check the agent's turns in this order.
        queue: Queue of the agent's turns, which only workers of that queue run. None: the common queue.

    Raises:
        InvalidInput: An argument breaks a rule.
    """
    if not isinstance(name, str):
        raise InvalidInput("name", name, 'must be text: write @symposia.agent("NAME")')
    try:
        options = MarkOptions.model_validate(
            {"name": name, "description": description, "window": window, "guards": guards, "queue": queue}
        )
    except ValidationError as error:
        raise invalid_input(error) from None
    frame = sys._getframe(1)  # noqa: SLF001 - the module that calls: an object does not know in which one it is marked
    module, line = _place_of(frame)

    def mark(given: T) -> T:
        # A module that is executed again marks its agents again.
        others = [
            marked_agent
            for marked_agent in _marked.get(module, ())
            if (marked_agent.options.name, marked_agent.line) != (name, line)
        ]
        _marked[module] = [*others, MarkedAgent(given, options, module, line)]
        return given

    return mark


def _place_of(frame: FrameType) -> tuple[str, int]:
    return str(frame.f_globals.get("__name__", "")), frame.f_lineno


def marked_in(module: str) -> list[MarkedAgent]:
    """Return the agents that a module marks, with those of the modules inside it."""
    inside = [name for name in _marked if name == module or name.startswith(f"{module}.")]
    return [marked_agent for name in inside for marked_agent in _marked[name]]


def forget_unloaded() -> None:
    """Forget the agents of modules that are not loaded, such as those whose import failed."""
    for name in [name for name in _marked if name not in sys.modules]:
        del _marked[name]


def find_mark(given: object) -> MarkedAgent | None:
    """Return the last mark of an object, if it has one."""
    matches = [mark for marks in list(_marked.values()) for mark in marks if mark.given is given]
    return matches[-1] if matches else None


_METHODS = ("speak", "speak_now", "speak_with_services")


@dataclass(frozen=True, slots=True)
class ObjectEntry(AgentKind):
    """Entry of the registry for an agent that is given as an object."""

    agent: AnyAgent = field(compare=False)
    #: Description for people, such as the name of a function.
    what: str
    kind: Literal["object"] = "object"
    #: Maximum number of messages shown to the agent.
    window: int = 100
    #: Guards that check the agent's turns.
    guards: tuple[str, ...] = ()
    #: What the agent is for, for other participants.
    about: str = ""
    #: Queue of the agent's turns; empty: the common one.
    queue: str = ""

    def create(self, _binding: AgentBinding, _env: KindEnv) -> AnyAgent:
        """As in AgentKind."""
        return self.agent

    def describe(self) -> str:
        """As in AgentKind."""
        return self.what

    def introduction(self) -> str:
        """As in AgentKind."""
        return self.about

    def agent_queue(self) -> str:
        """As in AgentKind."""
        return self.queue


def object_entry(
    name: str, given: object, *, threads: DaemonThreadPool, mark: MarkedAgent | None = None
) -> ObjectEntry:
    """Return the entry of an agent that is given as an object, with the options of its mark, if it has one.

    Args:
        name: Name of the agent, for the error.
        given: The object.
        threads: Threads for functions that are not async.
        mark: The mark; None: the last one of the object.

    Raises:
        InvalidInput: It is no agent: neither a callable nor an agent of a known library; or a class that cannot be
            created.
    """
    what = getattr(given, "__qualname__", None) or type(given).__qualname__
    agent = _to_agent(name, _create(name, given) if isinstance(given, type) else given, threads)
    mark = mark or find_mark(given)
    if mark is None:
        return ObjectEntry(agent, what)
    options = mark.options
    return ObjectEntry(
        agent,
        options.description or f"{mark.module}:{what}",
        window=options.window,
        guards=options.guards,
        about=options.description,
        queue=options.queue or "",
    )


def _create(name: str, given: type) -> object:
    try:
        return given()
    except Exception as error:
        rule = f"must be a class that can be created without arguments: {to_agent_error(error)}"
        raise InvalidInput(f"agents.{name}", given.__qualname__, rule) from error


def _to_agent(name: str, given: Any, threads: DaemonThreadPool) -> AnyAgent:
    if any(callable(getattr(given, method, None)) for method in _METHODS):
        return cast("AnyAgent", given)
    if (ask := ask_function(given)) is not None:
        return PromptAgent(ask)
    if not callable(given):
        rule = "must be a callable, or an agent of pydantic-ai, LangChain, LangGraph or the OpenAI Agents SDK"
        raise InvalidInput(f"agents.{name}", given, rule)
    if _takes_text(given):
        return PythonAgent(lambda turn: given(dialog_prompt(turn)), threads=threads)
    return PythonAgent(given, threads=threads)


def _takes_text(function: Callable[..., object]) -> bool:
    try:
        parameters = list(inspect.signature(function).parameters.values())
    except (TypeError, ValueError):  # a built-in without a signature
        return False
    return len(parameters) == 1 and parameters[0].annotation in (str, "str")


class PromptAgent:
    """An agent that answers the prompt of a turn."""

    #: As in `PythonAgent`.
    streams = True

    def __init__(self, ask: AskFunction) -> None:
        self._ask = ask

    async def speak(self, turn: TurnContext) -> TurnOutcome:
        """Ask for the output of this turn."""
        answer = await self._ask(dialog_prompt(turn), output_of_turn())
        outcome = to_outcome(answer.output)
        return outcome if answer.usage is None else outcome.model_copy(update={"usage": answer.usage})


def dialog_prompt(turn: TurnContext) -> str:
    """Return one prompt: the session and the form of an answer, the task, the visible dialog, the request of the turn."""
    prompt = build_prompt(turn, "", structured=False)
    blocks = [format_message(message, turn) for message in dialog_of(turn)]
    return "\n\n".join(filter(None, (prompt.session, prompt.participant, prompt.task, *blocks, prompt.turn)))

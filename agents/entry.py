"""Base of the entries of agents: what depends on the kind of an agent, and how agents are described and checked."""

# ruff: noqa: ARG002 - each kind uses what it needs
from __future__ import annotations

from collections.abc import Callable, Collection, Iterator, Mapping, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING, ClassVar

from pydantic import Field

from ..models.errors import AgentError
from ..models.sessions.agent_queues import AgentQueueName
from ..models.sessions.known_agents import ReaderModel
from ..models.sessions.limits import SpendingBounds
from ..models.sessions.options import AgentBinding, Description
from .agent import AnyAgent
from .execution.loading import load_callable
from .execution.threads import DaemonThreadPool
from .tables import EntryBase, FileTables


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
        file_prefix = f"{self.file}: " if self.file else ""
        table = f"[{self.entry}] " if self.entry else ""
        return f"{file_prefix}{table}{self.field}: {self.rule}"


@dataclass(frozen=True, slots=True)
class AgentInfo:
    """Description of a registered agent."""

    name: str
    kind: str
    #: Its model, callable, number of replies, command line, host or waiting time.
    what: str
    built_in: bool


def check_import(
    path: str, table: str, field: str, *, load: Callable[[str], object] = load_callable
) -> Iterator[FieldProblem]:
    """Yield a problem if code cannot be imported; it is imported."""
    try:
        load(path)
    except AgentError as error:
        yield FieldProblem(field, str(error), table)


#: Upper bounds of a turn that calls no model, and of one that may spend any amount.
NO_SPENDING = SpendingBounds(tokens=0, cost_micros=0)
UNKNOWN_SPENDING = SpendingBounds()


@dataclass(frozen=True, slots=True)
class KindEnv:
    """What the agents of one agents file share."""

    tables: FileTables
    #: Returns the value of an environment variable.
    read_variable: Callable[[str], str | None]
    #: Returns the URL of the running local model, or None.
    local_model: Callable[[], str | None]
    #: Threads for functions that are not async.
    threads: DaemonThreadPool
    #: Descriptions of the sessions that models may call, by name.
    sessions: Mapping[str, str]


class AgentKind:
    """Base of the entries: what depends on the kind of an agent.

    Packages that only agents of one kind need are imported by `create`, because light commands read entries, too.
    """

    #: Whether the agent of a person.
    is_person: ClassVar[bool] = False
    #: Whether the agent answers later, so that another agent may have taken the turn by then.
    answers_later: ClassVar[bool] = False
    #: Whether the turn is parked until the answer, which no guard checks.
    is_deferred: ClassVar[bool] = False
    if TYPE_CHECKING:
        #: Maximum number of messages that the agent is shown; None: as many as it needs.
        window: int | None

    def create(self, binding: AgentBinding, env: KindEnv) -> AnyAgent:
        """Return the agent, with the overrides of the binding. Raises InvalidInput, AgentError."""
        raise NotImplementedError

    def describe(self) -> str:
        """Return the detail that distinguishes the agent from others of its kind, such as its model."""
        raise NotImplementedError

    def introduction(self) -> str:
        """Return what the agent is for, in one line for other participants; empty: it does not say."""
        return ""

    def agent_queue(self) -> str:
        """Return the queue of the agent's turns; empty: the common one."""
        return ""

    def check(self, env: KindEnv) -> Iterator[FieldProblem]:
        """Yield problems on this machine, before a turn fails; no model is called."""
        return iter(())

    def broken_rules(self, tables: FileTables, sessions: Collection[str]) -> Iterator[tuple[str, str]]:
        """Yield fields that do not fit the other tables of the agents file, each with its rule."""
        return iter(())

    def named_agents(self) -> Iterator[tuple[str, str]]:
        """Yield fields that name other agents, each with such a name."""
        return iter(())

    def agents_inside(self, sessions: Collection[str]) -> Sequence[str]:
        """Return the agents that take part in the agent's turns: those of a session, or sessions that a model may call."""
        return ()

    def stand_in(self, binding: AgentBinding) -> AgentBinding | None:
        """Return the binding of the agent that takes over after the deadline; None: there is none."""
        return None

    def spending(self, binding: AgentBinding, env: KindEnv) -> SpendingBounds:
        """Return the most that one turn may spend."""
        return UNKNOWN_SPENDING

    def window_for(self, binding: AgentBinding) -> int:
        """Return the maximum number of messages that the agent is shown. Raises InvalidInput."""
        return self.window or 0

    def identity(self) -> str | None:
        """Return a text that changes with the program that the agent runs; None: it runs none."""
        return None

    def reader(self, env: KindEnv) -> ReaderModel | None:
        """Return what a review must know of a model; None: the agent is not a model."""
        return None

    def model_names(self) -> Sequence[str]:
        """Return the names of its models; empty: the agent is not a model."""
        return ()

    def rate_model(self) -> str | None:
        """Return the name of the first model; None: the agent is not a model."""
        return None

    def uses_local_model(self, env: KindEnv) -> bool:
        """Return whether the first model is the local model."""
        return False

    def lacks_price(self, env: KindEnv) -> bool:
        """Return whether a model has no price, so that its cost counts as 0."""
        return False


class GuardedEntry(AgentKind, EntryBase):
    """Base of the tables of agents."""

    #: Names of `[guards]` tables that check the agent's turns, in this order; the first hit decides.
    guards: tuple[str, ...] = Field(default=(), max_length=100)
    #: What the agent is for, in one line for other participants. Left out if it is empty, so that the identity of an
    #: agent stays the same.
    description: Description = Field(default="", exclude_if=lambda text: not text)
    #: Queue of the agent's turns: only workers that consume it run them. Never part of the identity of an agent.
    queue: AgentQueueName | None = Field(default=None, exclude=True)

    def introduction(self) -> str:
        """As in AgentKind."""
        return self.description

    def agent_queue(self) -> str:
        """As in AgentKind."""
        return self.queue or ""

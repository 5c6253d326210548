"""Options of a session besides its collab: mode options, agents, failure policies.

All of it is data. An agent is named, never described: a job cannot bring code, files or
hosts to a worker.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Self

from pydantic import Field, JsonValue, model_validator

from ..protocol.base import NonBlank
from ..protocol.collab import Participant, orchestrators_among
from ..text.durations import Duration
from ..text.redact import excerpt
from ..turns.frozen import Frozen
from ..turns.items import NewItem
from ..turns.waiting import WaitPolicy
from .agent_queues import AgentQueueName
from .subsessions import SESSION_AGENT

#: Name of a registered agent.
AgentName = Annotated[NonBlank, Field(max_length=200)]


#: What a participant is for, in one line.
Description = Annotated[str, Field(max_length=200)]

#: Maximum number of items on a board at the start.
MAX_ITEMS = 1_000


class Protocol(StrEnum):
    """Format of the turns of a session, beyond plain text."""

    ALIGNMENT = "alignment"


@dataclass(frozen=True, slots=True)
class ItemLinks:
    """Ids and links of the initial items of a board, by their numbers from 1."""

    #: Id of every item -> its number.
    numbers: Mapping[str, int]
    #: Number -> numbers of the items that it waits for, of items that wait.
    after: Mapping[int, tuple[int, ...]]
    #: Number -> numbers of the items that wait for it.
    dependants: Mapping[int, tuple[int, ...]]

    @classmethod
    def of(cls, items: Sequence[NewItem]) -> ItemLinks:
        """Return the links of items; references to unknown items are left out."""
        numbers = {item.id or str(number): number for number, item in enumerate(items, start=1)}
        after: dict[int, tuple[int, ...]] = {}
        dependants: dict[int, tuple[int, ...]] = {}
        for number, item in enumerate(items, start=1):
            if not item.after:
                continue
            predecessors = (numbers[name] for name in item.after if name in numbers)
            after[number] = tuple(dict.fromkeys(predecessors))
            for other in after[number]:
                dependants[other] = (*dependants.get(other, ()), number)
        return cls(numbers, after, dependants)


def link_faults(
    items: Sequence[NewItem], *, first: int = 1, is_known: Callable[[str], bool] = lambda _: False
) -> Iterator[tuple[int, str, str]]:
    """Yield the faults of items that are added together: index, field (`id` or `after`), rule.

    Args:
        items: The items.
        first: Number of the first of them on the board.
        is_known: Whether an id names an item that is already on the board.
    """
    own: dict[str, int] = {}
    for index, item in enumerate(items):
        name = item.id or str(first + index)
        if name in own or is_known(name):
            yield index, "id", f"must be unique: {name!r} is the id of another item"
        else:
            own[name] = index
    for index, item in enumerate(items):
        unknown = [name for name in item.after if name not in own and not is_known(name)]
        if unknown:
            yield index, "after", f"must name items of the board: {excerpt(unknown[0])!r} is unknown"
    if (circle := _circle(items, own)) is not None:
        names = " -> ".join(items[index].id or str(first + index) for index in (*circle, circle[0]))
        yield from ((index, "after", f"must not form a cycle: {excerpt(names)}") for index in circle)


def _circle(items: Sequence[NewItem], own: Mapping[str, int]) -> tuple[int, ...] | None:
    """Return the indices of items that wait for each other, in order; None: there is no cycle."""
    finished: set[int] = set()
    for start in range(len(items)):
        path: dict[int, Iterator[int]] = {}
        index: int | None = None if start in finished else start
        while index is not None:
            if index in path:
                order = list(path)
                return tuple(order[order.index(index) :])
            if index not in finished:
                path[index] = _references(items[index].after, own)
            index = _advance(path, finished)
    return None


def _references(names: Iterable[str], own: Mapping[str, int]) -> Iterator[int]:
    return iter([own[name] for name in names if name in own])


def _advance(path: dict[int, Iterator[int]], finished: set[int]) -> int | None:
    """Return the next item to visit, after leaving those whose references are all visited; None: the end."""
    while path:
        last = next(reversed(path))
        following = next(path[last], None)
        if following is not None:
            return following
        finished.add(last)
        del path[last]
    return None


class Repetition(StrEnum):
    """Effect of turns that bring nothing new."""

    #: They count as passes, and in an orchestrated session as decisions without progress.
    STOP = "stop"
    IGNORE = "ignore"


class ModeOptions(Frozen):
    """Options of the five modes; a mode reads only its own."""

    #: all modes: effect of turns that repeat recent messages or are only courtesies. Left out if it is the default, for
    #: digests of earlier versions.
    repetition: Repetition = Field(default=Repetition.STOP, exclude_if=lambda value: value is Repetition.STOP)
    #: orchestrated: participant id of the orchestrator, if the roles do not name one.
    orchestrator: str | None = None
    #: orchestrated: decisions without progress before a new plan is asked for.
    max_stalls: int = Field(default=3, ge=1, le=100)
    #: orchestrated: how often a new plan is asked for then, before the session stops.
    max_replans: int = Field(default=1, ge=0, le=10)
    #: orchestrated: invalid choices sent back before the participant that waited longest gets the turn.
    max_invalid: int = Field(default=2, ge=0, le=100)
    #: broadcast: participant that writes the message of each round and does not answer it; None: the only
    #: orchestrator, or the message is the user's.
    broadcaster: str | None = None
    #: broadcast: participant that speaks after each round (summary, vote).
    aggregator: str | None = None
    #: broadcast: answers that close a round; None: all.
    quorum: int | None = Field(default=None, ge=1)
    #: swarm: the items on the board at the start; none: the purpose is the only item.
    items: tuple[NewItem, ...] = Field(default=(), max_length=MAX_ITEMS)
    #: swarm: participant that has one more turn when the board is empty, and sees the results of all items.
    reducer: str | None = None
    #: swarm: maximum items of the board; the rest are dropped and listed.
    max_items: int = Field(default=100, ge=1, le=10_000)
    #: swarm: hand-offs of one item before it stays with its participant.
    max_hand_offs: int = Field(default=8, ge=0, le=1_000)
    #: swarm: times one item may go back and forth between the same two roles.
    max_ping_pong: int = Field(default=2, ge=0, le=1_000)

    def broadcaster_among(self, participants: Sequence[Participant]) -> str | None:
        """Return the participant id of who writes the messages of a broadcast; None: the user."""
        if self.broadcaster is not None or len(participants) < 2:
            return self.broadcaster
        orchestrators = orchestrators_among(participants)
        return orchestrators[0] if len(orchestrators) == 1 else None

    @cached_property
    def links(self) -> ItemLinks:
        """Links between the initial items of a swarm; computed once, because planners use them at every turn."""
        return ItemLinks.of(self.items)


class AfterRetries(StrEnum):
    """Action after an agent's last failed attempt at a turn."""

    SKIP = "skip"
    SUBSTITUTE = "substitute"
    ABORT = "abort"


class FailurePolicy(Frozen):
    """Failure policy of a participant. Backoff: `backoff_s`, doubled each time, at most `max_backoff_s`."""

    attempts: int = Field(default=3, ge=1, le=100)
    backoff_s: Duration = Field(default=1.0, ge=0, le=3_600)
    max_backoff_s: Duration = Field(default=30.0, ge=0, le=3_600)
    then: AfterRetries = AfterRetries.ABORT
    #: Registered agent that takes the seat when `then` is `substitute`.
    substitute: AgentName | None = None
    #: Seconds one attempt may take; None: the worker's setting.
    turn_timeout_s: Duration | None = Field(default=None, gt=0, le=86_400)

    @model_validator(mode="after")
    def _check_substitute(self) -> Self:
        if (self.then is AfterRetries.SUBSTITUTE) != (self.substitute is not None):
            raise ValueError("`then: substitute` and `substitute: NAME` must be set together")
        return self

    def delay_s(self, attempt: int) -> float:
        """Return seconds to wait after a failed attempt.

        Args:
            attempt: Number of the attempt, from 1.
        """
        return min(self.backoff_s * 2.0 ** min(attempt - 1, 60), self.max_backoff_s)


class AgentBinding(Frozen):
    """The registered agent of a participant, with overrides that are data only."""

    agent: AgentName
    #: Document of the sub-session that takes the turns of the participant, with the built-in agent `session`.
    session: dict[str, JsonValue] | None = None
    instructions: str | None = Field(default=None, max_length=32_768)
    #: What the participant is for, for the others; None: what its agent says of itself. Left out if it is not given.
    description: Description | None = Field(default=None, exclude_if=lambda text: text is None)
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
    #: Whether its model requests go through the batch API of the provider, which costs less and takes up to a day. Left
    #: out if not.
    batch: bool = Field(default=False, exclude_if=lambda is_batch: not is_batch)
    #: Queue of the turns: only workers that consume it run them. None: that of the agents file. Left out if it is not given.
    queue: AgentQueueName | None = Field(default=None, exclude_if=lambda name: name is None)
    #: Handed to the agent as `TurnContext.parameters`, over the session's own.
    parameters: dict[str, JsonValue] = Field(default_factory=dict)
    #: Wait policy for an agent that answers later; None: that of the registry.
    wait: WaitPolicy | None = None

    @model_validator(mode="before")
    @classmethod
    def _name_session_agent(cls, data: object) -> object:
        if isinstance(data, Mapping) and data.get("session") is not None and "agent" not in data:
            return {**data, "agent": SESSION_AGENT}
        return data

    @model_validator(mode="after")
    def _check_session(self) -> Self:
        if self.session is not None and self.agent != SESSION_AGENT:
            raise ValueError("`session` must be set without `agent`")
        return self

    def with_agent(self, agent: str | None) -> Self:
        """Return the binding with another agent, which has its own wait policy and queue, and no document of a session.

        Args:
            agent: The agent. None: return the binding unchanged.
        """
        if agent is None:
            return self
        return self.model_copy(update={"agent": agent, "wait": None, "session": None, "queue": None})

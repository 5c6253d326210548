"""Options of a session besides its collab: mode options, agents, failure policies.

All of it is data. An agent is named, never described: a job cannot bring code, files or
hosts to a worker.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from enum import StrEnum
from functools import cached_property
from typing import Annotated, Self

from pydantic import Field, JsonValue, model_validator

from ..protocol.base import NonBlank
from ..protocol.collab import Participant, orchestrators_among
from ..text.durations import Duration
from ..turns.frozen import Frozen
from ..turns.items import NewItem
from ..turns.waiting import WaitPolicy
from .item_links import ItemLinks
from .subsessions import SESSION_AGENT

#: Name of a registered agent.
AgentName = Annotated[NonBlank, Field(max_length=200)]


#: Maximum number of items on a board at the start.
MAX_ITEMS = 1_000


class Protocol(StrEnum):
    """Format of the turns of a session, beyond plain text."""

    ALIGNMENT = "alignment"


class ModeOptions(Frozen):
    """Options of the five modes; a mode reads only its own."""

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
    #: swarm: items the board takes in all; further ones are dropped and shown as such.
    max_items: int = Field(default=100, ge=1, le=10_000)
    #: swarm: hand-offs of one item before it stays with its participant.
    max_hand_offs: int = Field(default=8, ge=0, le=1_000)
    #: swarm: times one item may go back and forth between the same two roles.
    max_ping_pong: int = Field(default=2, ge=0, le=1_000)

    def broadcaster_among(self, participants: Sequence[Participant]) -> str | None:
        """Return the participant id of who writes the messages of a broadcast; None: the user."""
        if self.broadcaster is not None or len(participants) < 2:
            return self.broadcaster
        found = orchestrators_among(participants)
        return found[0] if len(found) == 1 else None

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
    temperature: float | None = Field(default=None, ge=0, le=2)
    max_tokens: int | None = Field(default=None, ge=1)
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
        """Return the binding with another agent, which has its own wait policy and no document of a session.

        Args:
            agent: The agent. None: return the binding unchanged.
        """
        if agent is None:
            return self
        return self.model_copy(update={"agent": agent, "wait": None, "session": None})

"""Changes of the participants and instructions of a running session. Pure.

A change makes new participants from valid ones, and checks them by the rules for opening a session: a
session cannot be changed to settings that could not be submitted.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, replace
from typing import Any

from pydantic import ValidationError

from ..errors import InvalidInput, MessageTooLarge, UnknownAgent, invalid_input
from ..protocol.collab import Collab, Participant, ParticipantKind
from ..protocol.invariants import check_collab
from .limits import check_sizes
from .options import AgentBinding
from .spec import SessionSpec
from .stop_conditions import Converged
from .submission import agent_of_person

#: Accepted forms of a binding: a registered agent's name, or a name with overrides.
AnyBinding = str | AgentBinding | Mapping[str, Any]
#: Accepted forms of a participant: an id, or more fields.
AnyParticipant = str | Participant | Mapping[str, Any]


@dataclass(frozen=True, slots=True)
class SessionParticipants:
    """Participants and their bindings."""

    collab: Collab
    spec: SessionSpec

    def with_participant(
        self, participant: Participant, binding: AgentBinding, *, limit_bytes: int
    ) -> SessionParticipants:
        """Return the participants with one more, last in the roster.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        if participant.participant_id in (*self.spec.approvers, *self.spec.observers):
            rule = "must not be the name of an approver or observer"
            raise InvalidInput("participant", participant.participant_id, rule)
        collab = self.collab.changed(participants=(*self.collab.participants, participant)).activated()
        agents = {**self.spec.agents, participant.participant_id: binding}
        return self._checked(collab, agents, limit_bytes=limit_bytes)

    def without_participant(self, name: str, *, limit_bytes: int) -> SessionParticipants:
        """Return the participants without one.

        Raises:
            InvalidInput: An unknown or required participant.
        """
        self._require_participant(name)
        spec = self.spec
        parts = {
            "orchestrator": spec.orchestrator,
            "aggregator": spec.options.aggregator,
            "broadcaster": spec.options.broadcaster,
            "reducer": spec.options.reducer,
        }
        for part in (part for part, holder in parts.items() if holder == name):
            raise InvalidInput("participant", name, f"must not be the {part} of the session")
        if any(isinstance(leaf, Converged) and name in leaf.experts for leaf in spec.stop.leaves()):
            raise InvalidInput("participant", name, "must not be an expert of the stop condition `converged`")
        left = [p for p in self.collab.participants if p.participant_id != name]
        agents = {other: binding for other, binding in spec.agents.items() if other != name}
        return self._checked(self.collab.changed(participants=left), agents, limit_bytes=limit_bytes)

    def with_instructions(self, name: str, text: str) -> SessionParticipants:
        """Change the instructions of a participant from the next turn on.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        self._require_participant(name)
        data = {**dict(self.spec.agents[name]), "instructions": text}
        return replace(self, spec=self._with(agents={**self.spec.agents, name: read_binding(data)}))

    def _require_participant(self, name: str) -> None:
        ids = [p.participant_id for p in self.collab.participants]
        if name not in ids:
            raise InvalidInput("participant", name, f"must be the id of a participant: {', '.join(ids)}")

    def _with(self, *, agents: Mapping[str, AgentBinding]) -> SessionSpec:
        return self.spec.model_copy(update={"agents": agents})

    def _checked(
        self, collab: Collab, agents: Mapping[str, AgentBinding], *, limit_bytes: int
    ) -> SessionParticipants:
        # An id that was used before makes no difference, but two at once do.
        check_collab(collab, orchestrator=self.spec.orchestrator)
        check_sizes(collab, (), max_message_bytes=limit_bytes)
        spec = self._with(agents=agents)
        size = len(spec.model_dump_json(exclude_defaults=True).encode())
        if size > limit_bytes:
            raise MessageTooLarge(size, limit_bytes=limit_bytes, field="agents")
        return SessionParticipants(collab, spec)


def read_participant(data: AnyParticipant) -> Participant:
    """Return a participant from its id, or from plain data.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    if isinstance(data, Participant):
        return data
    try:
        return Participant(**({"participant_id": data} if isinstance(data, str) else dict(data)))
    except InvalidInput as error:
        raise error.within("participant") from None


def read_binding(data: AnyBinding) -> AgentBinding:
    """Return a binding from an agent's name, or from plain data.

    Raises:
        InvalidInput: A value breaks a rule.
    """
    if isinstance(data, AgentBinding):
        return data
    try:
        return AgentBinding.model_validate({"agent": data} if isinstance(data, str) else data)
    except ValidationError as error:
        raise invalid_input(error, "agent") from None


def binding_for(
    participant: Participant, agent: AnyBinding | None, *, known_agents: frozenset[str]
) -> AgentBinding:
    """Return the agent of a participant: the given one, else the agent of the same name; for a person one of kind human.

    Raises:
        UnknownAgent: No worker knows the agent; `known_agents` is empty if no worker is known.
    """
    name = participant.participant_id
    own = agent_of_person(name, known_agents) if participant.kind is ParticipantKind.HUMAN else name
    binding = read_binding(agent if agent is not None else own)
    if known_agents and binding.agent not in known_agents:
        raise UnknownAgent(binding.agent, known=known_agents)
    return binding

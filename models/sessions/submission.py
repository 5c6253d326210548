"""A submission: a collab with its options, checked as a whole before anything is written.

This is also what a session file holds: the collab's fields at the top, `agent` beside each
participant, and the options of `HowToRun`.
"""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from typing import Any, Self, Unpack

from pydantic import BaseModel, JsonValue, ValidationError

from ..attachments import Attachment
from ..errors import InvalidInput, Locked, UnknownAgent, invalid_input, within
from ..outputs import RequiredOutput
from ..protocol.collab import Collab, CollabStatus, Participant, ParticipantKind
from ..protocol.dialog import Message, Role
from ..protocol.invariants import check_collab
from ..turns.asked_people import check_people
from ..turns.waiting import TimeoutAction
from .how_to_run import HUMAN_AGENT, HowToRun, binding_of_name, read_document, read_options, read_part
from .known_agents import KnownAgents
from .limits import check_sizes
from .options import AgentBinding
from .plan import ParticipantRoles
from .spec import SessionOptions, SessionSpec
from .stop_conditions import Converged, StopCondition
from .stop_syntax import check_size
from .subsessions import check_document


def agent_of_person(name: str, known_agents: frozenset[str]) -> str:
    """Return the agent of a person without a binding: that of their name if it is of kind human, else `human`.

    A program or a model that has the same name by chance must not answer for them.
    """
    return name if name in KnownAgents.read(known_agents).people else HUMAN_AGENT


#: Text of the first message of a session that is submitted with attachments only.
_NO_TEXT = "See the attached files."
#: Rule for a participant without an agent.
_AGENT_REQUIRED = "must be bound to an agent: agents={{{0!r}: 'NAME'}}"


class Submission(SessionOptions):
    """A collab with its options."""

    collab: Collab
    #: None: the default of the mode.
    stop: StopCondition | None = None
    messages: tuple[Message, ...] = ()
    #: Id of the session that it continues; `history` is set when that session has been found.
    continues: str | None = None
    #: The hashes with which a fork begins, as JSON.
    start: str = ""
    #: JSON schema of the output.
    output: Mapping[str, JsonValue] | None = None
    output_by: str | None = None
    #: Class of the output in this process; it does not travel.
    output_type: type[BaseModel] | None = None
    #: Whether its turns are recorded; None: as the installation is set.
    record: bool | None = None
    #: Whether it waits for `activate`.
    draft: bool = False
    #: Files of the first message, with their data.
    attachments: tuple[Attachment, ...] = ()

    @classmethod
    def build(cls, collab: Collab | Mapping[str, Any], **how: Unpack[HowToRun]) -> Self:
        """Read each part from its own type or from plain data.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        return read_part(cls, read_options(collab, how), "")

    @classmethod
    def from_document(cls, document: object) -> Self:
        """Read what a session file holds.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        collab, how = read_document(document)
        return cls.build(collab, **how)

    @classmethod
    def of_subsession(cls, document: object, where: str) -> Self:
        """Read the document of a sub-session; `where` is its place in messages.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        with within(where):
            return cls.from_document(check_document(document, ""))

    def agents_in_use(self) -> Iterator[str]:
        """Yield the names of the agents of its participants, and of those of the sub-sessions that it contains."""
        for participant in self.collab.participants:
            name = participant.participant_id
            binding = self.agents.get(name)
            if binding is not None and binding.session is not None:
                yield from Submission.of_subsession(binding.session, f"agents.{name}.session").agents_in_use()
            elif binding is not None:
                yield binding.agent
            else:
                yield HUMAN_AGENT if participant.kind is ParticipantKind.HUMAN else name

    def prepare(self, *, known_agents: frozenset[str] = frozenset(), max_message_bytes: int) -> Submission:
        """Return this submission with all defaults filled in and all rules between its parts checked, but those of its mode.

        `known_agents`: names that workers announced; empty if no worker announced any.

        Raises:
            InvalidInput: The first rule that is broken, with its field and value.
        """
        if self.collab.status is not CollabStatus.DRAFT:
            raise InvalidInput(
                "status", self.collab.status, "must be `draft`: a session is submitted only once"
            )
        if self.collab.governance is not None and self.collab.governance.locked:
            raise Locked("collab", self.collab.collab_id)
        check_sizes(self.collab, self.messages, max_message_bytes=max_message_bytes)
        check_collab(self.collab, orchestrator=self.options.orchestrator)
        if self.stop is not None:
            check_size(self.stop)
        self._check_names()
        agents = {p.participant_id: self._binding(p, known_agents) for p in self.collab.participants}
        for name, agent in self._named_agents(agents).items():
            if known_agents and agent not in known_agents:
                raise UnknownAgent(agent, known=known_agents, field=name)
        # The submitter holds no grant of this session.
        messages = tuple(message.as_history() for message in self._messages_with_attachments())
        return self.model_copy(
            update={"collab": self.collab.activated(), "agents": agents, "messages": messages}
        )

    def _messages_with_attachments(self) -> tuple[Message, ...]:
        """Return the messages; the first has the attachments, and is made if there is none."""
        if not self.attachments:
            return self.messages
        first, *rest = self.messages or (Message(role=Role.USER, content=_NO_TEXT),)
        return (first.with_attachments((*first.attachments, *self.attachments)), *rest)

    def spec(
        self, stop: StopCondition, roles: ParticipantRoles, *, submitted_in: str | None = None
    ) -> SessionSpec:
        """Return the specification for the workers. Call `prepare` first.

        Without `output_by`, the speaker of the output is the aggregator, the orchestrator or the navigator, or in a
        broadcast without aggregator the last participant; in a swarm the reducer. Without one, and in a round robin,
        it is the speaker of the last turn.

        Args:
            stop: The stop condition, with those of the mode.
            roles: The roles in the session's mode.
            submitted_in: Span in which it is submitted; None: no span.
        """
        output = None
        if self.output is not None:
            speaker = roles.output_by if self.output_by is None else self.output_by
            output = RequiredOutput(json_schema=dict(self.output), by=speaker)
        own = {
            "stop": stop if self.protocol is None else stop | Converged(roles.experts),
            "orchestrator": roles.orchestrator,
            "output": output,
            "record": bool(self.record),
            "submitted_in": submitted_in,
        }
        options = {name: getattr(self, name) for name in SessionOptions.model_fields}
        try:
            return SessionSpec(**{**options, **own})
        except ValidationError as error:
            raise invalid_input(error) from None

    def _binding(self, participant: Participant, known_agents: frozenset[str]) -> AgentBinding:
        name = participant.participant_id
        if name in self.agents:
            return self.agents[name]
        if participant.kind is ParticipantKind.HUMAN:
            return AgentBinding(agent=agent_of_person(name, known_agents))
        if participant.kind is not ParticipantKind.AGENT:
            raise InvalidInput(
                f"participants.{name}.kind", participant.kind.value, _AGENT_REQUIRED.format(name)
            )
        return binding_of_name(name, f"agents.{name[:50]}")

    def _named_agents(self, agents: Mapping[str, AgentBinding]) -> dict[str, str]:
        named = {f"agents.{name}": binding.agent for name, binding in agents.items()}
        named |= {
            f"agents.{name}.wait.to": str(binding.wait.to)
            for name, binding in agents.items()
            if binding.wait and binding.wait.then is TimeoutAction.REASSIGN
        }
        for where, policy in {
            "policy": self.policy,
            **{f"policies.{n}": p for n, p in self.policies.items()},
        }.items():
            if policy.substitute is not None:
                named[f"{where}.substitute"] = policy.substitute
        return named

    def _check_names(self) -> None:
        ids = {p.participant_id for p in self.collab.participants}
        for where, names in (("agents", self.agents), ("policies", self.policies)):
            for name in names:
                if name not in ids:
                    raise InvalidInput(
                        where, name, f"must be the id of a participant: {', '.join(sorted(ids))}"
                    )
        check_people(self.approvers, self.observers, ids)
        if self.options.aggregator is not None and self.options.aggregator not in ids:
            raise InvalidInput(
                "options.aggregator", self.options.aggregator, "must be the id of a participant"
            )
        if self.output_by is not None and self.output_by not in sorted(ids):
            rule = f"must be the id of a participant: {', '.join(sorted(ids))}"
            raise InvalidInput("output_by", self.output_by, rule)
        if self.output_by is not None and self.output is None:
            raise InvalidInput("output_by", self.output_by, "must be set together with `output`")

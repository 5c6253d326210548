"""A submission: a collab with its options, checked as a whole before anything is written.

This is also what a session file holds: the collab's fields at the top, `agent` beside each
participant, and the fields of `Submission` besides.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from dataclasses import dataclass, field, replace
from itertools import islice
from pathlib import Path
from typing import Any, Self, TypeVar, Unpack, cast

from pydantic import BaseModel, JsonValue, ValidationError

from ..attachments import ATTACHMENTS, Attachment, read_given
from ..errors import InvalidInput, Locked, UnknownAgent, check_known, invalid_input, within
from ..memory.learned import MemoryChoices, MemoryOptions, memory_options
from ..outputs import RequiredOutput, read_schema
from ..protocol.collab import Collab, CollabStatus, Participant, ParticipantKind
from ..protocol.dialog import Message, Role
from ..protocol.invariants import check_collab
from ..turns.asked_people import check_people, read_names
from ..turns.items import NewItem
from ..turns.waiting import TimeoutAction
from .history import History
from .inputs import InputValue
from .known_agents import KnownAgents
from .limits import MAX_MESSAGES, TurnLimits, check_sizes
from .options import MAX_ITEMS, AgentBinding, FailurePolicy, ModeOptions, Protocol
from .plan import ParticipantRoles
from .spec import SessionSpec
from .stop_conditions import Condition, Converged, StopCondition
from .stop_syntax import check_size, read_stop
from .subsessions import ParentRef, check_document

M = TypeVar("M", bound=BaseModel)

#: Fields of a session file that are not the collab's.
_RUN_FIELDS = (
    *(
        "agents",
        "approvers",
        "observers",
        "stop",
        "options",
        "policy",
        "policies",
        "messages",
        "parameters",
        "thread_id",
        "continues",
        "task",
        "conversation",
        "limits",
        "tenant",
        "protocol",
        "output",
        "output_by",
        "record",
        "draft",
        "items",
        "reducer",
    ),
    *MemoryChoices.__annotations__,
)
#: Fields of a session file; `inputs` and files are replaced by their values before it is read.
_DOCUMENT_FIELDS = (*Collab.model_fields, *_RUN_FIELDS, "inputs", "output_schema", ATTACHMENTS)
#: Fields of a participant in a session file.
_PARTICIPANT_FIELDS = (*Participant.model_fields, "agent", "session")
#: Built-in agent of human participants without an agent of their own; it waits for an answer.
HUMAN_AGENT = "human"


def agent_of_person(name: str, known_agents: frozenset[str]) -> str:
    """Return the agent of a person without a binding: that of their name if it is of kind human, else `human`.

    A program or a model that has the same name by chance must not answer for them.
    """
    return name if name in KnownAgents.read(known_agents).people else HUMAN_AGENT


#: Text of the first message of a session that is submitted with attachments only.
_NO_TEXT = "See the attached files."
#: Rule for attachments in a session file of a sub-session or a schedule.
_ONLY_SUBMITTED = (
    "is read from a session file that is submitted directly, not from that of a sub-session or a schedule"
)
#: Rule for a participant without an agent.
_NAME_ONE = "must be bound to an agent: agents={{{0!r}: 'NAME'}}"


#: Rule for an agent that is a function or an object.
_NAMES_ONLY = (
    "must be the name of a registered agent, or a table with `agent`: other processes run it. Register a function with "
    "@symposia.agent('NAME') in a module of agents.toml, or run the session here with run_local or LocalClient"
)


def _read(kind: type[M], data: M | Mapping[str, Any] | None, where: str) -> M:
    if isinstance(data, kind):
        return data
    if data is not None and not isinstance(data, Mapping):
        raise InvalidInput(where, data, f"must be a table of {kind.__name__} fields")
    try:
        return kind(**_named(data or {}, where))
    except ValidationError as error:
        raise invalid_input(error, where) from None
    except InvalidInput as error:
        raise error.within(where) from None


def _read_binding(data: object, where: str) -> AgentBinding:
    if isinstance(data, str):
        return _read(AgentBinding, {"agent": data}, where)
    agent = data.get("agent") if isinstance(data, Mapping) else data
    if not isinstance(agent, AgentBinding | str | int | float | list | tuple | None):
        raise InvalidInput(where, agent, _NAMES_ONLY)
    return _read(AgentBinding, cast("AgentBinding | Mapping[str, Any]", data), where)


def _read_protocol(data: object) -> Protocol | None:
    if data is None or isinstance(data, Protocol):
        return data
    if not isinstance(data, str) or data not in {*Protocol}:
        raise InvalidInput("protocol", data, f"must be one of {', '.join(Protocol)}, or omitted")
    return Protocol(data)


def _read_choice(name: str, data: object) -> bool | None:
    if data is not None and not isinstance(data, bool):
        raise InvalidInput(name, data, "must be true or false, or omitted")
    return data


def _read_stop(data: object) -> StopCondition | None:
    if data is None or isinstance(data, Condition):
        return cast("StopCondition | None", data)
    return read_stop(data)


def _read_message(data: Message | Mapping[str, Any] | str, where: str) -> Message:
    if isinstance(data, str):
        return Message(role=Role.USER, content=data)
    return _read(Message, data, where)


def _read_id(data: object, where: str) -> str | None:
    if data is not None and not isinstance(data, str):
        raise InvalidInput(where, data, "must be the id of a session, or omitted")
    return data


def _named(table: Mapping[Any, Any], where: str) -> dict[str, Any]:
    for name in table:
        if not isinstance(name, str):
            raise InvalidInput(where, name, "must have field names of type text")
    return dict(table)


def _table(data: object, where: str) -> Mapping[str, Any]:
    if data is None:
        return {}
    if not isinstance(data, Mapping):
        raise InvalidInput(where, data, "must be a table")
    return data


class HowToRun(MemoryChoices, total=False):
    """Options for running a collab; every key is optional, and values may be plain data."""

    #: Participant id -> registered agent name, or that with overrides that are data (`AgentBinding`). A
    #: participant without an entry is taken by the agent of its own name, or, if it is a person, by `human`.
    agents: Mapping[str, str | AgentBinding | Mapping[str, Any]] | None
    #: People without turns who may be asked, and who decide approvals.
    approvers: Iterable[str] | None
    #: People without turns who may be asked.
    observers: Iterable[str] | None
    #: When to end, beyond what the mode itself knows: a `StopCondition`, or its file form `{"max_rounds": 3}`.
    stop: StopCondition | Mapping[str, Any] | None
    #: Options of the mode.
    options: ModeOptions | Mapping[str, Any] | None
    #: swarm: the items on the board at the start, instead of `options.items`.
    items: Iterable[NewItem | Mapping[str, Any]] | None
    #: swarm: the participant that closes the board, instead of `options.reducer`.
    reducer: str | None
    #: Policy for failing agents.
    policy: FailurePolicy | Mapping[str, Any] | None
    #: Participant id -> its own failure policy instead of `policy`.
    policies: Mapping[str, FailurePolicy | Mapping[str, Any]] | None
    #: What one turn may spend at most: `{"turn_tokens": 2_000, "turn_usd": 0.05}`.
    limits: TurnLimits | Mapping[str, Any] | None
    #: Tenant that is charged; the settings of the workers define the daily limits.
    tenant: str | None
    #: What the dialog starts with; a text is said by the user. Messages of another dialog keep their speaker,
    #: turn and token as `Message.history`.
    messages: Iterable[Message | Mapping[str, Any] | str] | None
    #: Data that every agent is given.
    parameters: Mapping[str, JsonValue] | None
    #: Id of the thread, which groups dialogs.
    thread_id: str | None
    #: Id of a session that has ended, which it continues: agents see its messages before those of the new dialog.
    continues: str | None
    #: The task it runs in: its agents must be admitted there. The task is the thread, then.
    task: str | None
    #: The conversation that its messages reach, too: its agents must be members.
    conversation: str | None
    #: How turns are written beyond plain text: `alignment` keeps a ledger and ends when all have converged.
    protocol: Protocol | str | None
    #: What the session must give as data: a pydantic model class, or a JSON schema.
    output: type[BaseModel] | Mapping[str, Any] | None
    #: Participant id of its speaker. Default: see `Submission.spec`.
    output_by: str | None
    #: Whether its turns are recorded with their calls, for a replay; None: as the installation is set.
    record: bool | None
    #: Whether the session waits for `activate`, so that it can still be changed or cancelled before its first turn.
    draft: bool | None
    #: Values of the inputs of a session file.
    inputs: Mapping[str, str | int | float | bool] | None
    #: Files of the first message: a `Path`, which is read now, or an `Attachment` with its data.
    attachments: Iterable[Path | Attachment] | None


def check_no_inputs(how: HowToRun) -> None:
    """Check that no inputs are given. Only a session file declares inputs.

    Raises:
        InvalidInput: There are inputs.
    """
    if (given := how.get("inputs")) is not None:
        raise InvalidInput("inputs", given, "must be set together with the Path of a session file")


@dataclass(frozen=True)
class Submission:
    """A collab with its options."""

    collab: Collab
    agents: Mapping[str, AgentBinding] = field(default_factory=dict)
    #: Names of people without turns who may be asked; approvers also decide approvals.
    approvers: tuple[str, ...] = ()
    observers: tuple[str, ...] = ()
    #: None: the default of the mode.
    stop: StopCondition | None = None
    options: ModeOptions = field(default_factory=ModeOptions)
    policy: FailurePolicy = field(default_factory=FailurePolicy)
    policies: Mapping[str, FailurePolicy] = field(default_factory=dict)
    limits: TurnLimits = field(default_factory=TurnLimits)
    tenant: str | None = None
    messages: tuple[Message, ...] = ()
    parameters: Mapping[str, JsonValue] = field(default_factory=dict)
    thread_id: str | None = None
    #: Id of the session that it continues; `history` is set when that session has been found.
    continues: str | None = None
    history: History | None = None
    #: The hashes with which a fork begins, as JSON.
    start: str = ""
    task: str | None = None
    conversation: str | None = None
    #: User whose memory its turns use; None: no user.
    memory: MemoryOptions | None = None
    protocol: Protocol | None = None
    #: JSON schema of the output.
    output: Mapping[str, JsonValue] | None = None
    output_by: str | None = None
    #: Class of the output in this process; it does not travel.
    output_type: type[BaseModel] | None = None
    #: The turn that it answers; None: it is no sub-session.
    parent: ParentRef | None = None
    #: Whether its turns are recorded; None: as the installation is set.
    record: bool | None = None
    #: Whether it waits for `activate`.
    draft: bool = False
    #: Values of the inputs of the session file that it came from.
    inputs: Mapping[str, InputValue] = field(default_factory=dict)
    #: Files of the first message, with their data.
    attachments: tuple[Attachment, ...] = ()

    @classmethod
    def build(cls, collab: Collab | Mapping[str, Any], **how: Unpack[HowToRun]) -> Self:
        """Read each part from its own type or from plain data.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        if not isinstance(collab, Collab | Mapping):
            raise InvalidInput(
                "collab", collab, "must be a Collab, a table of its fields, or the Path of a session file"
            )
        check_no_inputs(how)
        if not isinstance(collab, Collab):
            collab = Collab(**_with_participants(_named(collab, "collab"), how.get("agents")))
        agents, policies = _table(how.get("agents"), "agents"), _table(how.get("policies"), "policies")
        output = how.get("output")
        return cls(
            collab=collab,
            agents={str(name): _read_binding(it, f"agents.{name}") for name, it in agents.items()},
            approvers=read_names("approvers", how.get("approvers")),
            observers=read_names("observers", how.get("observers")),
            stop=_read_stop(how.get("stop")),
            options=_read(ModeOptions, _options(how), "options"),
            policy=_read(FailurePolicy, how.get("policy"), "policy"),
            policies={
                str(name): _read(FailurePolicy, it, f"policies.{name}") for name, it in policies.items()
            },
            limits=_read(TurnLimits, how.get("limits"), "limits"),
            tenant=how.get("tenant"),
            messages=tuple(
                _read_message(it, f"messages[{i}]")
                for i, it in enumerate(_limit_messages(how.get("messages")))
            ),
            parameters=dict(_table(how.get("parameters"), "parameters")),
            thread_id=how.get("thread_id"),
            continues=_read_id(how.get("continues"), "continues"),
            task=how.get("task"),
            conversation=how.get("conversation"),
            protocol=_read_protocol(how.get("protocol")),
            record=_read_choice("record", how.get("record")),
            draft=bool(_read_choice("draft", how.get("draft"))),
            memory=memory_options(how, conversation=_default_room(how) or collab.collab_id),
            output=None if output is None else read_schema(output),
            output_by=how.get("output_by"),
            output_type=output if isinstance(output, type) else None,
            attachments=read_given(how.get("attachments")),
        )

    @classmethod
    def from_document(cls, document: object) -> Self:
        """Read what a session file holds.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        data = dict(_table(document, "")) if document is not None else {}
        if ATTACHMENTS in data:  # nothing but the program of a submitter opens files
            raise InvalidInput(ATTACHMENTS, data[ATTACHMENTS], _ONLY_SUBMITTED)
        check_known(data, _DOCUMENT_FIELDS)
        own = {name: data.pop(name) for name in _RUN_FIELDS if name in data}
        participants, agents = _split_participants(data.get("participants"))
        if "participants" in data:
            data["participants"] = participants
        return cls.build(data, **{**own, "agents": {**agents, **_table(own.get("agents"), "agents")}})

    @classmethod
    def of_subsession(cls, document: object, where: str) -> Self:
        """Read the document of a sub-session; `where` is its place in messages.

        Raises:
            InvalidInput: A value breaks a rule.
        """
        try:
            return cls.from_document(check_document(document, ""))
        except InvalidInput as error:
            raise error.within(where) from None

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
        """Return this submission with all defaults filled in and all rules between its parts checked.

        `known_agents` are the names that workers announced; empty if no worker is known.

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
        return replace(self, collab=self.collab.activated(), agents=agents, messages=messages)

    def _messages_with_attachments(self) -> tuple[Message, ...]:
        """Return the messages; the first has the attachments, and is made if there is none."""
        if not self.attachments:
            return self.messages
        first, *rest = self.messages or (Message(role=Role.USER, content=_NO_TEXT),)
        return (first.with_attachments((*first.attachments, *self.attachments)), *rest)

    def spec(self, stop: StopCondition, roles: ParticipantRoles) -> SessionSpec:
        """Return the specification for the workers. Call `prepare` first.

        Without `output_by`, the speaker of the output is the aggregator, the orchestrator or the navigator, or in a
        broadcast without aggregator the last participant; in a swarm the reducer. Without one, and in a round robin,
        it is the speaker of the last turn.

        Args:
            stop: The stop condition, with those of the mode.
            roles: The roles in the session's mode.
        """
        output = None
        if self.output is not None:
            speaker = roles.output_by if self.output_by is None else self.output_by
            output = RequiredOutput(json_schema=dict(self.output), by=speaker)
        return _read(
            SessionSpec,
            {
                "thread_id": self.thread_id,
                "history": self.history,
                "task": self.task,
                "conversation": self.conversation,
                "agents": self.agents,
                "approvers": self.approvers,
                "observers": self.observers,
                "stop": stop if self.protocol is None else stop | Converged(roles.experts),
                "options": self.options,
                "orchestrator": roles.orchestrator,
                "policy": self.policy,
                "policies": self.policies,
                "limits": self.limits,
                "tenant": self.tenant,
                "parameters": self.parameters,
                "memory": self.memory,
                "protocol": self.protocol,
                "output": output,
                "parent": self.parent,
                "record": bool(self.record),
                "inputs": self.inputs,
            },
            "",
        )

    def _binding(self, participant: Participant, known_agents: frozenset[str]) -> AgentBinding:
        name = participant.participant_id
        if name in self.agents:
            return self.agents[name]
        if participant.kind is ParticipantKind.HUMAN:
            return AgentBinding(agent=agent_of_person(name, known_agents))
        if participant.kind is not ParticipantKind.AGENT:
            raise InvalidInput(f"participants.{name}.kind", participant.kind.value, _NAME_ONE.format(name))
        return _read(AgentBinding, {"agent": name}, f"agents.{name[:50]}")

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


def _options(how: HowToRun) -> ModeOptions | Mapping[str, Any] | None:
    """Return the options of the mode with the items and the reducer that are given beside them."""
    options = how.get("options")
    given = {name: value for name in ("items", "reducer") if (value := how.get(name)) is not None}
    if not given:
        return options
    table = (
        dict(options) if isinstance(options, ModeOptions) else _named(_table(options, "options"), "options")
    )
    for name, value in given.items():
        if table.get(name):
            raise InvalidInput(name, value, f"must not be set together with options.{name}")
    items = given.get("items")
    if isinstance(items, Iterable) and not isinstance(items, str | Mapping):
        given["items"] = tuple(islice(items, MAX_ITEMS + 1))
    return {**table, **given}


def _default_room(how: HowToRun) -> str | None:
    """Return the default room of the memory: the conversation, else the task, else the thread."""
    return how.get("conversation") or how.get("task") or how.get("thread_id")


def _limit_messages(messages: object) -> Iterable[Any]:
    if messages is None:
        return ()
    if isinstance(messages, str | Mapping) or not isinstance(messages, Iterable):
        raise InvalidInput("messages", messages, "must be a list")
    # One more than allowed, so that an endless iterator is refused as well.
    return islice(messages, MAX_MESSAGES + 1)


def _with_participants(collab: dict[str, Any], agents: object) -> dict[str, Any]:
    """Return the fields of a collab; without participants, one for each agent, in their order."""
    if collab.get("participants") is not None or not isinstance(agents, Mapping):
        return collab
    kinds = (ParticipantKind.AGENT, ParticipantKind.HUMAN)
    everyone = [
        {"participant_id": name, "kind": kinds[_agent_name(binding) == HUMAN_AGENT]}
        for name, binding in agents.items()
    ]
    return {**collab, "participants": everyone} if everyone else collab


def _agent_name(binding: object) -> object:
    if isinstance(binding, AgentBinding):
        return binding.agent
    name = binding.get("agent") if isinstance(binding, Mapping) else binding
    return name if isinstance(name, str) else None


def _split_participants(data: object) -> tuple[object, dict[str, Any]]:
    """Return the participants as the protocol has them, and the agents given with them."""
    if not isinstance(data, list):
        return data, {}
    plain, agents = [], {}
    for index, entry in enumerate(data):
        if isinstance(entry, Mapping):
            with within(f"participants[{index}]"):
                check_known(entry, _PARTICIPANT_FIELDS)
        if isinstance(entry, Mapping) and ("agent" in entry or "session" in entry):
            agents[str(entry.get("participant_id"))] = _binding_of(entry)
            plain.append({name: value for name, value in entry.items() if name not in ("agent", "session")})
        else:
            plain.append(entry)
    return plain, agents


def _binding_of(entry: Mapping[str, Any]) -> object:
    """Return what a participant of a session file says about its agent."""
    if "session" not in entry:
        return entry["agent"]
    if "agent" in entry:
        raise InvalidInput("participants.session", entry["agent"], "must be set without `agent`")
    return {"session": entry["session"]}

"""Options of a session as submitters give them: their names, their types and short forms.

`models/sessions/spec.py` has the options that are stored. `Client.submit` documents all of them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Mapping
from functools import cache, lru_cache, partial
from itertools import islice
from pathlib import Path
from typing import Any, TypeVar, cast

from pydantic import BaseModel, JsonValue, ValidationError

from ..attachments import ATTACHMENTS, Attachment, read_given
from ..errors import InvalidInput, check_known, invalid_input, within
from ..memory.learned import MemoryChoices, memory_options
from ..memory.recollections import RecallOptions, recall_options
from ..outputs import read_schema
from ..protocol.collab import Collab, Participant, ParticipantKind
from ..protocol.dialog import Message, Role
from ..turns.asked_people import read_names
from ..turns.items import NewItem
from .inputs import FIELD
from .limits import MAX_MESSAGES, TurnLimits
from .on_end import ON_END, read_on_end
from .options import MAX_ITEMS, AgentBinding, FailurePolicy, ModeOptions, Protocol
from .priority import Priority
from .stop_conditions import Condition, StopCondition
from .stop_syntax import read_stop

M = TypeVar("M", bound=BaseModel)

#: Built-in agent of human participants without an agent of their own; it waits for an answer.
HUMAN_AGENT = "human"
#: Rule for attachments in a session file of a sub-session or a schedule.
_ONLY_SUBMITTED = (
    "is read from a session file that is submitted directly, not from that of a sub-session or a schedule"
)


#: Rule for an agent that is a function or an object.
_NAMES_ONLY = (
    "must be the name of a registered agent, or a table with `agent`: other processes run it. Register a function with "
    "@symposia.agent('NAME') in a module of agents.toml, or run the session here with run_local or LocalClient"
)


def read_part(kind: type[M], data: M | Mapping[str, Any] | None, where: str) -> M:
    """Return a part of a submission from its own type or a table; `where` is its place in errors.

    Raises:
        InvalidInput: A value breaks a rule.
    """
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


def binding_of_name(name: str, where: str) -> AgentBinding:
    """Return the binding to an agent without further options; `where` is its place in errors.

    Raises:
        InvalidInput: It is not the name of an agent.
    """
    try:
        # A binding is immutable, but for its parameters: each session has its own.
        return _binding_of_name(name).model_copy(update={"parameters": {}})
    except ValidationError as error:
        raise invalid_input(error, where) from None


@lru_cache(maxsize=1_024)
def _binding_of_name(name: str) -> AgentBinding:
    return AgentBinding(agent=name)


@cache
def _no_options() -> ModeOptions:
    return ModeOptions()


def _read_binding(data: object, where: str) -> AgentBinding:
    if isinstance(data, str):
        return binding_of_name(data, where)
    agent = data.get("agent") if isinstance(data, Mapping) else data
    if not isinstance(agent, AgentBinding | str | int | float | list | tuple | None):
        raise InvalidInput(where, agent, _NAMES_ONLY)
    return read_part(AgentBinding, cast("AgentBinding | Mapping[str, Any]", data), where)


def _read_protocol(data: object) -> Protocol:
    if not isinstance(data, str) or data not in {*Protocol}:
        raise InvalidInput("protocol", data, f"must be one of {', '.join(Protocol)}, or omitted")
    return Protocol(data)


def _read_choice(name: str, data: object) -> bool:
    if not isinstance(data, bool):
        raise InvalidInput(name, data, "must be true or false, or omitted")
    return data


def _read_stop(data: object) -> StopCondition:
    return cast("StopCondition", data) if isinstance(data, Condition) else read_stop(data)


def _read_message(data: Message | Mapping[str, Any] | str, where: str) -> Message:
    if isinstance(data, str):
        return Message(role=Role.USER, content=data)
    return read_part(Message, data, where)


def _read_messages(data: object) -> tuple[Message, ...]:
    if isinstance(data, str | Mapping) or not isinstance(data, Iterable):
        raise InvalidInput("messages", data, "must be a list")
    # One more than allowed, so that an endless iterator is refused as well.
    return tuple(
        _read_message(message, f"messages[{i}]") for i, message in enumerate(islice(data, MAX_MESSAGES + 1))
    )


def _read_each(name: str, read: Callable[[Any, str], M], data: object) -> dict[str, M]:
    """Return the values of a table by participant id."""
    return {str(key): read(value, f"{name}.{key}") for key, value in _table(data, name).items()}


def _read_id(data: object) -> str:
    if not isinstance(data, str):
        raise InvalidInput("continues", data, "must be the id of a session, or omitted")
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


#: Readers of options that have short forms, or rules of their own.
_READERS: Mapping[str, Callable[[Any], object]] = {
    "agents": partial(_read_each, "agents", _read_binding),
    "approvers": partial(read_names, "approvers"),
    "observers": partial(read_names, "observers"),
    "stop": _read_stop,
    "policy": partial(read_part, FailurePolicy, where="policy"),
    "policies": partial(_read_each, "policies", partial(read_part, FailurePolicy)),
    "limits": partial(read_part, TurnLimits, where="limits"),
    "messages": _read_messages,
    "parameters": partial(_table, where="parameters"),
    "continues": _read_id,
    "priority": Priority.read,
    "protocol": _read_protocol,
    "record": partial(_read_choice, "record"),
    "draft": partial(_read_choice, "draft"),
    "output": read_schema,
    "attachments": read_given,
    ON_END: read_on_end,
}


class HowToRun(MemoryChoices, total=False):
    """Options of a session by name: the arguments of `Client.submit`, which documents them. Values may be plain data."""

    agents: Mapping[str, str | AgentBinding | Mapping[str, Any]] | None
    approvers: Iterable[str] | None
    observers: Iterable[str] | None
    stop: StopCondition | Mapping[str, Any] | None
    options: ModeOptions | Mapping[str, Any] | None
    items: Iterable[NewItem | Mapping[str, Any]] | None
    reducer: str | None
    policy: FailurePolicy | Mapping[str, Any] | None
    policies: Mapping[str, FailurePolicy | Mapping[str, Any]] | None
    limits: TurnLimits | Mapping[str, Any] | None
    tenant: str | None
    priority: Priority | str | None
    owner: str | None
    messages: Iterable[Message | Mapping[str, Any] | str] | None
    parameters: Mapping[str, JsonValue] | None
    thread_id: str | None
    continues: str | None
    task: str | None
    conversation: str | None
    protocol: Protocol | str | None
    output: type[BaseModel] | Mapping[str, Any] | None
    output_by: str | None
    record: bool | None
    draft: bool | None
    inputs: Mapping[str, str | int | float | bool] | None
    attachments: Iterable[Path | Attachment] | None
    recall: str | RecallOptions | None
    on_end: Mapping[str, Any] | str | None


#: Options by name, in the order in which they are documented.
OPTIONS = (
    *(name for name in HowToRun.__annotations__ if name not in MemoryChoices.__annotations__),
    *MemoryChoices.__annotations__,
)
#: Options that become a part of another one.
_FOLDED = ("items", "reducer", *MemoryChoices.__annotations__)
#: Fields of a session file; `inputs` and files are replaced by their values before it is read.
_DOCUMENT_FIELDS = (*Collab.model_fields, *OPTIONS, "output_schema")
#: Fields of a participant in a session file.
_PARTICIPANT_FIELDS = (*Participant.model_fields, "agent", "session")


def check_no_inputs(how: HowToRun) -> None:
    """Check that no inputs are given. Only a session file declares inputs.

    Raises:
        InvalidInput: There are inputs.
    """
    if (given := how.get("inputs")) is not None:
        raise InvalidInput("inputs", given, "must be set together with the Path of a session file")


def read_options(collab: Collab | Mapping[str, Any], how: HowToRun) -> dict[str, object]:
    """Return the fields of a `Submission`, each read from its own type or from plain data.

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
    given: dict[str, Any] = {
        name: value for name in OPTIONS if name not in _FOLDED and (value := how.get(name)) is not None
    }
    if "messages" not in given and isinstance(said := how.get("said"), str):
        given["messages"] = [said]  # the user's sentence opens the dialog, too
    read = {name: _READERS[name](value) if name in _READERS else value for name, value in given.items()}
    output = given.get("output")
    return {
        **read,
        "collab": collab,
        "options": read_part(ModeOptions, _options(how) or _no_options(), "options"),
        "memory": memory_options(how, conversation=_default_room(how) or collab.collab_id),
        "recall": recall_options(how, default_room=_default_room(how)),
        "output_type": output if isinstance(output, type) else None,
    }


def read_document(document: object) -> tuple[dict[str, Any], HowToRun]:
    """Return the fields of the collab and the options of a session file.

    Raises:
        InvalidInput: It is not a table, or has fields that a session file must not have.
    """
    data = dict(_table(document, ""))
    if ATTACHMENTS in data:  # nothing but the program of a submitter opens files
        raise InvalidInput(ATTACHMENTS, data[ATTACHMENTS], _ONLY_SUBMITTED)
    check_known(data, _DOCUMENT_FIELDS)
    if ON_END in data:  # a file must not name tasks of an application
        raise InvalidInput(ON_END, data[ON_END], "must be given to `submit`, not in a session file")
    how = {name: data.pop(name) for name in OPTIONS if name in data and name != FIELD}
    participants, agents = _split_participants(data.get("participants"))
    if "participants" in data:
        data["participants"] = participants
    how["agents"] = {**agents, **_table(how.get("agents"), "agents")}
    return data, cast("HowToRun", how)


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

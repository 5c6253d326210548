"""Every exception Symposia raises on purpose, in one tree.

    SymposiaError
    ├── InvalidInput (also ValueError)      the caller's data breaks a rule
    │   ├── InvariantViolation              a named rule of the protocol
    │   ├── UnknownAgent                    no such name in the registry
    │   ├── MessageTooLarge
    │   ├── InvalidSessionFile
    │   └── NotTheOwner                     somebody else's memory
    ├── LifecycleError                      not in this status
    │   ├── IllegalTransition
    │   ├── Locked
    │   ├── DialogNotActive
    │   └── SessionEnded                    it takes no more changes
    ├── SessionError
    │   ├── SessionNotFound
    │   │   └── NotLive                     only the archive has it
    │   ├── ScheduleNotFound
    │   ├── SessionConflict
    │   ├── ReplyRefused                    nobody waits for this answer (any more)
    │   └── ResultTimeout (also TimeoutError)
    ├── StateError                          Redis, not the caller
    │   ├── RedisUnavailable (also ConnectionError)
    │   │   └── UnsuitableRedis
    │   ├── ScriptError
    │   ├── CorruptSession
    │   ├── CorruptMemory
    │   ├── CorruptSchedule
    │   ├── EmbeddedServerError
    │   │   └── PortTaken
    │   └── ServiceEnded
    ├── BrokerUnavailable (also ConnectionError)
    ├── ArchiveError                        the database of the archive
    │   ├── ArchiveUnavailable (also ConnectionError)
    │   └── NotRestorable                   there is nothing to go on with
    ├── ConversationError                   a task or a conversation refuses
    │   ├── NotTaskManager                  only its task-manager may
    │   ├── NotAMember
    │   ├── ParticipantNotAdmittedError     not (any more) among the task's participants
    │   ├── ConversationFullError
    │   ├── ConversationArchivedError
    │   ├── TaskClosedError                 not active (any more)
    │   └── TaskRejectedError               the verdict of its task-manager
    ├── TurnError                           control flow between workers and state
    │   └── LeaseLost
    ├── TurnFailed                          for Celery: the task failed
    ├── AgentError                          raised by agents; `retryable` says whether to try again
    │   ├── AgentFailed
    │   ├── AgentTimeout
    │   └── BadOutcome
    ├── ReviewError                         a batch review cannot go on
    │   ├── ReviewNotFound
    │   ├── GitFailed
    │   └── DeliveryFailed                  `retryable` says whether to try again
    ├── LocalModelError                     the model of this machine
    └── RegistryError                       the agents file breaks a rule

Exceptions cross processes: each survives pickling with all its attributes. A message is one
line, and never holds a password.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping
from difflib import get_close_matches
from typing import Any, Self

from pydantic import ValidationError

from .origin import Origin
from .redis_address import RedisAddress, RedisKind
from .shown import ABSENT, one_line, shown, without_password


class SymposiaError(Exception):
    """Something went wrong in Symposia."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message or (type(self).__doc__ or "").splitlines()[0]))

    def __reduce__(self) -> tuple[Any, ...]:
        # Not by calling the class again: signatures differ, and attributes carry the data.
        return _revived, (type(self), self.args), self.__dict__


def _revived(kind: type[SymposiaError], args: tuple[object, ...]) -> SymposiaError:
    error = kind.__new__(kind)
    error.args = args
    return error


class InvalidInput(SymposiaError, ValueError):
    """A value breaks a rule.

    Attributes:
        field: path of the field, e.g. `participants[0].kind`; empty for the input as a whole.
        value: the value as the message shows it: a repr, cut to 80 characters, `***` for a secret.
        rule: what the value must be, e.g. `must not be blank`.
    """

    def __init__(self, field: str, value: object, rule: str) -> None:
        super().__init__(rule)
        self.field = field
        self.value = shown(value, field=field)
        self.rule = rule

    def __str__(self) -> str:
        # The path holds names that whoever wrote the input has chosen.
        return one_line(f"{self.field}: {self._said()}" if self.field else self._said())

    def _said(self) -> str:
        return f"{self.rule} (got {self.value})"

    def within(self, prefix: str) -> Self:
        """This error, with `prefix` put before the path of its field."""
        self.field = ".".join(filter(None, (prefix, self.field))).replace(".[", "[")
        return self


class InvariantViolation(InvalidInput):
    """A named rule of the protocol is broken; `name` is its id, e.g. `map_orchestrator_required`."""

    def __init__(self, name: str, *, field: str, value: object, rule: str) -> None:
        super().__init__(field, value, rule)
        self.name = name

    def _said(self) -> str:
        return f"{super()._said()} [{self.name}]"


class UnknownAgent(InvalidInput):
    """No agent of this name is registered."""

    def __init__(self, name: str, *, known: Iterable[str] = (), field: str = "agent") -> None:
        names = sorted(known)
        near = get_close_matches(name, names, n=3) or names[:10]
        listed = f": {', '.join(near)}" if near else ""
        super().__init__(field, name, f"must be a registered agent{listed}")
        self.name = name
        self.known = tuple(names)


class MessageTooLarge(InvalidInput):
    """A message exceeds the cap."""

    def __init__(self, size_bytes: int, *, limit_bytes: int, field: str = "content") -> None:
        super().__init__(field, size_bytes, f"must be at most {limit_bytes} bytes of UTF-8")
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class InvalidSessionFile(InvalidInput):
    """A session file cannot be run; `file` is its path."""

    def __init__(self, file: str, *, rule: str, field: str = "", value: object = ABSENT) -> None:
        super().__init__(field, value, rule)
        self.file = file

    def __str__(self) -> str:
        return one_line(f"{self.file}: {super().__str__() if self.field else self.rule}")


class NotTheOwner(InvalidInput):
    """Only the user whose memory it is may have it."""

    def __init__(self, asker: object) -> None:
        super().__init__("by", asker, "must be the user whose memory it is")


class LifecycleError(SymposiaError):
    """The status of a collab or dialog does not allow this."""


class IllegalTransition(LifecycleError):
    """The lifecycle has no edge between these two statuses; `entity` is `collab` or `dialog`."""

    def __init__(self, entity: str, current: str, target: str) -> None:
        super().__init__(_no_edge(entity, str(current), str(target)))
        self.entity = entity
        self.current = str(current)
        self.target = str(target)


#: What a session or a dialog would be in a status, where the status is not the verb itself.
_VERBS = {"draft": "made a draft again", "active": "resumed"}


def _no_edge(entity: str, current: str, target: str) -> str:
    name = "session" if entity == "collab" else entity
    if current == target:
        return f"{name} is already {current}"
    is_over = current in ("completed", "cancelled")
    state = f"{name} has already ended ({current})" if is_over else f"{name} is {current}"
    return f"{state} and cannot be {_VERBS.get(target, target)}"


class Locked(LifecycleError):
    """`governance.locked` refuses every change; `entity` is `collab` or `dialog`."""

    def __init__(self, entity: str, identifier: str) -> None:
        super().__init__(f"{entity} {identifier!r} is locked by its governance and cannot be changed")
        self.entity = entity
        self.identifier = identifier


class DialogNotActive(LifecycleError):
    """Messages are added to active dialogs only."""

    def __init__(self, dialog_id: str, status: str) -> None:
        super().__init__(f"dialog {dialog_id!r} is {status}: messages are added to active dialogs only")
        self.dialog_id = dialog_id
        self.status = str(status)


class SessionEnded(LifecycleError):
    """A session that has ended takes no more changes."""

    def __init__(self, session_id: str, status: str) -> None:
        super().__init__(f"session {session_id!r} is {status}: it takes no more changes")
        self.session_id = session_id
        self.status = str(status)


class SessionError(SymposiaError):
    """A session cannot be used this way."""


class SessionNotFound(SessionError):
    """There is no such session: it never was, or its time to live has passed."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"no session {session_id!r}: it was never submitted here, or has expired")
        self.session_id = session_id


class NotLive(SessionNotFound):
    """The session is in the archive only.

    Args:
        session_id: Its id.
        ended: The status it has ended in. None: it has not ended.
    """

    def __init__(self, session_id: str, ended: str | None = None) -> None:
        words = "is in the archive only; `symposia restore` lets it go on"
        if ended is not None:
            words = f"has already ended ({ended}) and cannot be changed: it is in the archive only"
        super(SessionNotFound, self).__init__(f"session {session_id!r} {words}")
        self.session_id = session_id


class ScheduleNotFound(SessionError):
    """There is no schedule of this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"no schedule is called {name!r}")
        self.name = name


class SessionConflict(SessionError):
    """The id is taken by a session with other content."""

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"session {session_id!r} was submitted before with other content; use a new collab_id"
        )
        self.session_id = session_id


#: Characters of an open question that an error repeats.
_TOLD = 80
_REFUSED_REPLIES = {
    "late": "the answer comes after the deadline",
    "double": "it was answered before",
    "foreign": "the reply token is not that of the question",
    "unasked": "nothing is asked of them now",
    "several": "they are asked more than one thing; say which turn is answered",
    "ended": "the session has ended",
}


class ReplyRefused(SessionError):
    """An answer changes nothing; `word` says why: `late`, `double`, `foreign`, `unasked`, `several` or `ended`.

    `questions`: of `several`, the text of each by the number of its turn.
    """

    def __init__(
        self, session_id: str, name: str, word: str, *, questions: Mapping[int, str] | None = None
    ) -> None:
        listed = "; ".join(f"turn {turn}: {text[:_TOLD]}" for turn, text in (questions or {}).items())
        why = ": ".join(filter(None, (_REFUSED_REPLIES[word], listed)))
        super().__init__(f"session {session_id!r} takes no answer of {name!r}: {why}")
        self.session_id = session_id
        self.name = name
        self.word = word
        self.questions = dict(questions or {})


class ResultTimeout(SessionError, TimeoutError):
    """The session did not end in time; it goes on. `timeout_s` is in seconds."""

    def __init__(self, session_id: str, *, timeout_s: float) -> None:
        super().__init__(f"session {session_id!r} has not ended within {timeout_s:g} s; it goes on")
        self.session_id = session_id
        self.timeout_s = timeout_s


class StateError(SymposiaError):
    """The live state in Redis could not be read or changed."""


class RedisUnavailable(StateError, ConnectionError):
    """Redis does not answer; `url` and `hint` are kept without any password."""

    def __init__(self, url: str, *, hint: str = "") -> None:
        self.url = without_password(url)
        self.hint = without_password(hint)
        super().__init__(f"Redis at {self.url} does not answer" + (f": {self.hint}" if hint else ""))


class BrokerUnavailable(SymposiaError, ConnectionError):
    """The broker does not answer; `url` and `hint` are kept without any password."""

    def __init__(self, url: str, *, hint: str = "") -> None:
        self.url = without_password(url)
        self.hint = without_password(hint)
        super().__init__(f"the broker at {self.url} does not answer" + (f": {self.hint}" if hint else ""))


#: What a URL should be, by what was found there.
_WRITE: dict[RedisKind, str] = {
    RedisKind.SINGLE: "no {kind}, but one server: write {scheme}://{nodes}/0",
    RedisKind.CLUSTER: (
        "a node of a Redis Cluster: write {scheme}+cluster://{nodes}, and set SYMPOSIA_BROKER_URL to another "
        "broker, for Celery has no transport for a cluster"
    ),
    RedisKind.SENTINEL: "a Sentinel: write {scheme}+sentinel://{nodes}/NAME-OF-THE-MASTER/0",
}


class UnsuitableRedis(RedisUnavailable):
    """What listens there is of another kind than the URL says; `found` is what it is, `hint` what to write."""

    def __init__(self, url: str, *, found: RedisKind) -> None:
        super().__init__(url)
        address = RedisAddress.of(url)
        nodes = ",".join(f"{host}:{port}" for host, port in address.nodes)
        scheme = "rediss" if address.is_tls else "redis"
        kind = "Sentinel" if address.kind is RedisKind.SENTINEL else "Redis Cluster"
        self.found = found
        self.hint = _WRITE[found].format(kind=kind, scheme=scheme, nodes=nodes)
        self.args = (one_line(f"Redis at {self.url} is {self.hint}"),)


class ScriptError(StateError):
    """A Lua script failed: a defect, or a server that does not support it. `verb` is its name."""

    def __init__(self, verb: str, detail: str) -> None:
        super().__init__(f"script {verb!r} failed: {detail}")
        self.verb = verb
        self.detail = detail


class CorruptSession(StateError):
    """What Redis holds of a session is not what Symposia wrote; `part` is where, e.g. `events`."""

    def __init__(self, session_id: str, *, part: str, detail: str) -> None:
        super().__init__(f"{part} of session {session_id!r} cannot be read: {detail}")
        self.session_id = session_id
        self.part = part
        self.detail = detail


class CorruptMemory(StateError):
    """A stored dialog memory cannot be read; `detail` says what is wrong, without any of its content."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"the stored dialog memory cannot be read: {detail}")
        self.detail = detail


class CorruptSchedule(StateError):
    """What stands in Redis under a schedule's name is no schedule."""

    def __init__(self, name: str) -> None:
        super().__init__(f"what Redis has of the schedule {name!r} cannot be read; remove it and add it anew")
        self.name = name


class EmbeddedServerError(StateError):
    """The embedded server could not be started."""


class PortTaken(EmbeddedServerError):
    """Another program listens on the port."""


class ServiceEnded(StateError):
    """A service ended again and again."""


class ArchiveError(SymposiaError):
    """The archive could not be read or changed."""


class ArchiveUnavailable(ArchiveError, ConnectionError):
    """The archive's database does not answer; `url` and `hint` are kept without any password."""

    def __init__(self, url: str, *, hint: str = "") -> None:
        self.url = without_password(url)
        self.hint = without_password(hint)
        super().__init__(f"the archive at {self.url} does not answer" + (f": {self.hint}" if hint else ""))


class NotRestorable(ArchiveError):
    """A session cannot be made live again; `why` says what stands against it."""

    def __init__(self, session_id: str, *, why: str) -> None:
        super().__init__(f"session {session_id!r} cannot be restored: {why}")
        self.session_id = session_id
        self.why = why


class ConversationError(SymposiaError):
    """A task or a conversation cannot be used this way."""


class NotTaskManager(ConversationError):
    """Only its task-manager may do this; `target` is the id of the task or conversation, which may not exist."""

    def __init__(self, agent: str, target: str) -> None:
        super().__init__(f"{agent!r} is not the task-manager of {target!r}")
        self.agent = agent
        self.target = target


class NotAMember(ConversationError):
    """Only members may do this; `target` is the id of the task or conversation, which may not exist."""

    def __init__(self, agent: str, target: str) -> None:
        super().__init__(f"{agent!r} is not a member of {target!r}")
        self.agent = agent
        self.target = target


class ParticipantNotAdmittedError(ConversationError):
    """A conversation's members must take part in its task; `agents` are those who do not."""

    def __init__(self, task_id: str, agents: Iterable[str]) -> None:
        self.task_id = task_id
        self.agents = tuple(agents)
        super().__init__(f"task {task_id!r} has not admitted {', '.join(map(repr, self.agents))}")


class ConversationFullError(ConversationError):
    """A conversation has no room for more members."""

    def __init__(self, conversation_id: str, *, limit: int) -> None:
        super().__init__(f"conversation {conversation_id!r} must have at most {limit} members")
        self.conversation_id = conversation_id
        self.limit = limit


class ConversationArchivedError(ConversationError):
    """An archived conversation takes no messages."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"conversation {conversation_id!r} is archived: it takes no messages")
        self.conversation_id = conversation_id


class TaskClosedError(ConversationError):
    """Only an active task takes changes and messages."""

    def __init__(self, task_id: str, status: str) -> None:
        super().__init__(f"task {task_id!r} is {status}: only an active task takes changes and messages")
        self.task_id = task_id
        self.status = str(status)


class TaskRejectedError(ConversationError):
    """The task-manager does not want the task; `reason` is what it said."""

    def __init__(self, task_id: str, reason: str) -> None:
        super().__init__(f"task {task_id!r} was rejected: {reason}")
        self.task_id = task_id
        self.reason = reason


class TurnError(SymposiaError):
    """A turn cannot be written by whoever tries."""

    def __init__(self, session_id: str, turn_number: int) -> None:
        doc = (type(self).__doc__ or "").splitlines()[0]
        super().__init__(f"turn {turn_number} of session {session_id!r}: {doc}")
        self.session_id = session_id
        self.turn_number = turn_number


class LeaseLost(TurnError):
    """The lease ran out or was taken back while the agent spoke."""


class TurnFailed(SymposiaError):
    """A failure exhausted the attempts of a turn, or ended its session. Celery reports the task as failed."""


class AgentError(SymposiaError):
    """An agent could not take its turn.

    Attributes:
        retryable: whether another try may help.
        retry_after_s: seconds that whoever refused asked to be left alone; None: they did not say.
        origin: where in the agent's own code it was raised; None: not there.
    """

    origin: Origin | None = None

    def __init__(
        self, message: str = "", *, retryable: bool = True, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class AgentFailed(AgentError):
    """The agent raised an error."""


class AgentTimeout(AgentError):
    """The agent did not answer before the turn's deadline."""


class BadOutcome(AgentError):
    """The agent answered something that is not a turn outcome."""

    def __init__(self, message: str = "", *, retryable: bool = False) -> None:
        super().__init__(message, retryable=retryable)


class ReviewError(SymposiaError):
    """A batch review cannot go on."""


class ReviewNotFound(ReviewError):
    """There is no such run: it never was, or was pruned."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"no review {run_id!r}: it was never begun here, or was pruned")
        self.run_id = run_id


class GitFailed(ReviewError):
    """The program `git` could not answer."""


class DeliveryFailed(ReviewError):
    """A report did not arrive.

    Attributes:
        retryable: whether another try may help.
        retry_after_s: seconds that the receiver asked to be left alone; None: it did not say.
    """

    def __init__(
        self, message: str = "", *, retryable: bool = True, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class LocalModelError(SymposiaError):
    """The local model could not be started."""


class RegistryError(SymposiaError):
    """The agents file breaks a rule: `file`, `entry` (a table such as `agents.coder`), `field`, `rule`."""

    def __init__(self, file: str, *, entry: str, field: str, rule: str) -> None:
        place = f"[{entry}] " if entry else ""
        super().__init__(f"{file}: {place}{field + ': ' if field else ''}{rule}")
        self.file = file
        self.entry = entry
        self.field = field
        self.rule = rule


_SUBJECT = re.compile(r"^\w+ should ")
_COUNTED = re.compile(r" after validation, not \d+$")


def invalid_input(error: ValidationError, prefix: str = "") -> InvalidInput:
    """The first problem pydantic found, as one clear line; `prefix` goes before the field's path.

    An InvalidInput raised by a validator is handed on as it is, under the path of that validator.
    """
    first = error.errors(include_url=False)[0]
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InvalidInput):
        return cause.within(path).within(prefix)
    value: object = first["input"]
    match first["type"]:
        case "missing":
            value, rule = ABSENT, "is required"
        case "extra_forbidden":
            rule = "is not a known field"
        case "value_error":
            rule = str(cause)
        case "model_type":
            rule = "must be an object with fields"
        case "string_unicode":
            rule = "must be text that UTF-8 can carry"
        case _:
            rule = _COUNTED.sub("", _SUBJECT.sub("must ", first["msg"])).replace("a valid tuple", "a list")
    return InvalidInput(path, value, rule).within(prefix)

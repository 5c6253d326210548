"""Exceptions of Symposia, and their tree.

    SymposiaError
    ├── InvalidInput (also ValueError)      the caller's data breaks a rule
    │   ├── AmbiguousId                     the start of several ids
    │   ├── InvariantViolation              a named rule of the protocol
    │   ├── UnknownAgent                    no such name in the registry
    │   ├── MessageTooLarge
    │   ├── OtherCommit                     a pull request was pushed meanwhile
    │   └── InvalidSessionFile
    ├── LifecycleError                      not allowed in this status
    │   ├── IllegalTransition
    │   ├── Locked
    │   ├── DialogNotActive
    │   └── SessionEnded                    cannot be changed
    ├── SessionError
    │   ├── SessionNotFound
    │   │   └── NotLive                     in the archive only
    │   ├── AttachmentUnavailable
    │   ├── ScheduleNotFound
    │   ├── SessionConflict
    │   ├── PartlySubmitted                 `submit_many` was interrupted
    │   ├── ReplyRefused                    no open question for this answer
    │   ├── WaitInTask                      a Celery task waits for a session
    │   ├── WaitInTurn                      an agent waits for a session
    │   ├── SessionFailed                   the result of a session that was not completed
    │   └── ResultTimeout (also TimeoutError)
    ├── StateError                          Redis failed, not the caller
    │   ├── RedisUnavailable (also ConnectionError)
    │   │   ├── NoRedis                     none is configured, and no embedded server runs
    │   │   └── UnsuitableRedis
    │   ├── ScriptError
    │   ├── CorruptSession
    │   ├── CorruptMemory
    │   ├── CorruptSchedule
    │   ├── NewerFormat
    │   ├── EmbeddedServerError
    │   │   └── PortTaken
    │   └── ServiceEnded
    ├── BrokerUnavailable (also ConnectionError)
    ├── UnsuitableQueue                     the queue exists with another type
    ├── ClientClosed                        a call after `Client.close()`
    ├── Unauthorized                        no valid credentials
    ├── Forbidden                           the caller lacks a scope
    ├── ArchiveError                        the database of the archive
    │   ├── ArchiveUnavailable (also ConnectionError)
    │   └── NotRestorable                   nothing to continue from
    ├── ConversationError                   a task or conversation refuses the call
    │   ├── NotTaskManager                  allowed to its task-manager only
    │   ├── NotAMember
    │   ├── ParticipantNotAdmittedError     not, or no longer, a participant of the task
    │   ├── ConversationFullError
    │   ├── ConversationArchivedError
    │   ├── TaskClosedError                 not active
    │   └── TaskRejectedError               the verdict of its task-manager
    ├── LeaseLost                           control flow between workers and state
    ├── TurnFailed                          marks the Celery task as failed
    ├── AgentError                          raised by agents; `retryable`: whether to retry
    │   ├── AgentFailed
    │   │   ├── ToolServerFailed            an MCP server does not answer
    │   │   └── MailNotAnswered             a mail server does not answer
    │   ├── AgentTimeout
    │   └── BadOutcome
    ├── ReviewError                         a batch review cannot continue
    │   ├── ReviewNotFound
    │   ├── GitFailed
    │   └── DeliveryFailed                  `retryable`: whether to retry
    ├── ReplayDiffers                       a replay differs from the record
    ├── NotRecorded                         a session without a record
    ├── MissingPackage (also ImportError)   a package of an extra
    ├── LocalModelError                     local model server
    └── RegistryError                       the agents file breaks a rule

Exceptions cross processes, so each keeps all its attributes when pickled. A message is one line and
never contains a password.
"""

from __future__ import annotations

import re
from collections.abc import Collection, Iterable, Iterator, Mapping
from contextlib import contextmanager
from typing import Any, Self

from pydantic import ValidationError
from pydantic_core import ErrorDetails

from .text.words import count_of
from .text.nearest import did_you_mean, known_fields, nearest_names
from .text.redact import ABSENT, ErrorOrigin, one_line, redact_value, without_password
from .text.redis_address import RedisAddress, RedisKind


class SymposiaError(Exception):
    """Symposia failed."""

    def __init__(self, message: str = "") -> None:
        super().__init__(one_line(message or (type(self).__doc__ or "").splitlines()[0]))

    def __reduce__(self) -> tuple[Any, ...]:
        # Signatures differ, so unpickling does not call the class; the attributes carry the data.
        return _revived, (type(self), self.args), self.__dict__


def _revived(kind: type[SymposiaError], args: tuple[object, ...]) -> SymposiaError:
    error = kind.__new__(kind)
    error.args = args
    return error


class InvalidInput(SymposiaError, ValueError):
    """A value breaks a rule.

    Attributes:
        field: Path of the field, e.g. `participants[0].kind`; empty for the input as a whole.
        value: The value as shown in the message: a repr, cut to 80 characters, `***` for a secret.
        rule: What the value must be, e.g. `must not be blank`.
    """

    def __init__(self, field: str, value: object, rule: str) -> None:
        super().__init__(rule)
        self.field = field
        self.value = redact_value(value, field=field)
        self.rule = rule

    def __str__(self) -> str:
        # The path contains names from the input, which may hold unprintable characters.
        return one_line(f"{self.field}: {self._describe()}" if self.field else self._describe())

    def _describe(self) -> str:
        return f"{self.rule} (got {self.value})"

    def within(self, prefix: str) -> Self:
        """Prepend a prefix to the path of the field.

        Args:
            prefix: The path of the object that has the field.

        Returns:
            This error.
        """
        self.field = ".".join(filter(None, (prefix, self.field))).replace(".[", "[")
        return self


class AmbiguousId(InvalidInput):
    """Several ids start with this text; `ids` lists them."""

    def __init__(self, prefix: str, ids: Iterable[str], *, kind: str = "sessions") -> None:
        self.ids = tuple(ids)
        listed = ", ".join(self.ids[:3]) + (", ..." if len(self.ids) > 3 else "")
        super().__init__("id", prefix, f"ambiguous: {len(self.ids)} {kind} start with {prefix!r} ({listed})")

    def __str__(self) -> str:
        return one_line(self.rule)


class InvariantViolation(InvalidInput):
    """A value breaks a named rule of the protocol; `name` is its id, e.g. `map_orchestrator_required`."""

    def __init__(self, name: str, *, field: str, value: object, rule: str) -> None:
        super().__init__(field, value, rule)
        self.name = name

    def _describe(self) -> str:
        return f"{super()._describe()} [{self.name}]"


class UnknownAgent(InvalidInput):
    """No agent with this name is registered."""

    def __init__(self, name: str, *, known: Iterable[str] = (), field: str = "agent") -> None:
        names = sorted(known)
        hint = did_you_mean(name, names, most=3) or (f": {nearest_names(name, names)}" if names else "")
        super().__init__(field, name, f"must be a registered agent{hint}")
        self.name = name
        self.known = tuple(names)


class MessageTooLarge(InvalidInput):
    """A message is larger than the limit."""

    def __init__(self, size_bytes: int, *, limit_bytes: int, field: str = "content") -> None:
        super().__init__(field, size_bytes, f"must be at most {limit_bytes} bytes of UTF-8")
        self.size_bytes = size_bytes
        self.limit_bytes = limit_bytes


class InvalidSessionFile(InvalidInput):
    """A session file is not valid; `file` is its path."""

    def __init__(self, file: str, *, rule: str, field: str = "", value: object = ABSENT) -> None:
        super().__init__(field, value, rule)
        self.file = file
        self._prefix = ""

    def __str__(self) -> str:
        return one_line(f"{self._prefix}{self.file}: {super().__str__() if self.field else self.rule}")

    def within(self, prefix: str) -> Self:
        """Prepend a prefix to the path of the file.

        Args:
            prefix: The path of the object that has the file.

        Returns:
            This error.
        """
        self._prefix = f"{prefix}: {self._prefix}" if prefix else self._prefix
        return self


class LifecycleError(SymposiaError):
    """The status of a collab or dialog does not allow this."""


class IllegalTransition(LifecycleError):
    """The lifecycle does not allow this change of status; `entity` is `collab` or `dialog`."""

    def __init__(self, entity: str, current: str, target: str) -> None:
        super().__init__(_no_edge(entity, str(current), str(target)))
        self.entity = entity
        self.current = str(current)
        self.target = str(target)


#: Participle for an error message, for statuses that are no participle themselves.
_VERBS = {"draft": "made a draft again", "active": "resumed"}


def _no_edge(entity: str, current: str, target: str) -> str:
    name = "session" if entity == "collab" else entity
    if current == target:
        return f"{name} is already {current}"
    is_over = current in ("completed", "cancelled")
    shown = "a draft" if current == "draft" else current
    state = f"{name} has already ended ({current})" if is_over else f"{name} is {shown}"
    verb = "activated" if (current, target) == ("suspended", "active") else _VERBS.get(target, target)
    cure = ": activate or cancel it" if current == "draft" else ""
    return f"{state} and cannot be {verb}{cure}"


class Locked(LifecycleError):
    """`governance.locked` forbids every change; `entity` is `collab` or `dialog`."""

    def __init__(self, entity: str, identifier: str) -> None:
        super().__init__(f"{entity} {identifier!r} cannot be changed: its governance.locked is set")
        self.entity = entity
        self.identifier = identifier


class DialogNotActive(LifecycleError):
    """Only active dialogs accept messages."""

    def __init__(self, dialog_id: str, status: str) -> None:
        super().__init__(f"dialog {dialog_id!r} is {status}: only active dialogs accept messages")
        self.dialog_id = dialog_id
        self.status = str(status)


class SessionEnded(LifecycleError):
    """A session that has ended cannot be changed."""

    def __init__(self, session_id: str, status: str) -> None:
        super().__init__(f"session {session_id!r} has already ended ({status}) and cannot be changed")
        self.session_id = session_id
        self.status = str(status)


class Unauthorized(SymposiaError):
    """The credentials are missing or not valid."""


class Forbidden(SymposiaError):
    """The caller lacks a scope; `scope` is its name."""

    def __init__(self, scope: str) -> None:
        super().__init__(f"the caller lacks the scope {str(scope)!r}")
        self.scope = str(scope)


class SessionError(SymposiaError):
    """A session cannot be used this way."""


class SessionNotFound(SessionError):
    """The session is unknown or has expired.

    Args:
        session_id: Id of the session.
        not_searched: Where it may be, and why that was not searched; empty if it is nowhere.
    """

    def __init__(self, session_id: str, not_searched: str = "") -> None:
        hint = f"; not searched: {not_searched}" if not_searched else ""
        super().__init__(f"session {session_id!r} not found (unknown id or expired){hint}")
        self.session_id = session_id


class AttachmentUnavailable(SessionError):
    """The bytes of an attachment cannot be had.

    Args:
        name: Name or digest of the attachment.
        why: What the reader lacks.
    """

    def __init__(self, name: str, *, why: str) -> None:
        super().__init__(f"attachment {redact_value(name)} cannot be read: {why}")
        self.name = name


class NotLive(SessionNotFound):
    """The session is in the archive only.

    Args:
        session_id: Id of the session.
        ended: Final status of the session; None if it has not ended.
    """

    def __init__(self, session_id: str, ended: str | None = None) -> None:
        problem = "is in the archive only; continue it with `symposia restore`"
        if ended is not None:
            problem = f"has already ended ({ended}) and cannot be changed; it is in the archive only"
        super(SessionNotFound, self).__init__(f"session {session_id!r} {problem}")
        self.session_id = session_id


class ScheduleNotFound(SessionError):
    """No schedule has this name."""

    def __init__(self, name: str) -> None:
        super().__init__(f"schedule {name!r} not found")
        self.name = name


class SessionConflict(SessionError):
    """A session with this id but other content exists."""

    def __init__(self, session_id: str) -> None:
        super().__init__(f"session {session_id!r} already exists with different content; use a new collab_id")
        self.session_id = session_id


class PartlySubmitted(SessionError):
    """Some sessions of a call of `submit_many` were submitted, others not; the cause is `__cause__`.

    Attributes:
        submitted: Ids of the sessions that were submitted, in the order of the call.
        unknown: Ids of sessions that may have been submitted: the answer was lost. Submitting the same sessions
            again, with these ids, is safe.
        missing: Ids of the sessions that were not submitted.
    """

    def __init__(
        self, *, submitted: Iterable[str], unknown: Iterable[str], missing: Iterable[str], cause: Exception
    ) -> None:
        self.submitted, self.unknown, self.missing = tuple(submitted), tuple(unknown), tuple(missing)
        total = len(self.submitted) + len(self.unknown) + len(self.missing)
        super().__init__(
            f"{len(self.submitted)} of {count_of(total, 'session')} were submitted, {len(self.unknown)} may have been; "
            f"submit the same sessions again under their ids: {cause}"
        )


#: Maximum characters of an open question in a message.
_QUESTION_LENGTH = 80
_REFUSED_REPLIES = {
    "late": "the deadline has passed",
    "double": "the question is already answered",
    "foreign": "the reply token does not match the question",
    "unasked": "there is no open question for this participant",
    "several": "there are several open questions; give the turn number",
    "ended": "the session has ended",
}


class ReplyRefused(SessionError):
    """An answer to an open question was refused.

    Attributes:
        word: Reason: `late`, `double`, `foreign`, `unasked`, `several` or `ended`.
        questions: For `several`, text of each open question by the number of its turn.
    """

    def __init__(
        self, session_id: str, name: str, word: str, *, questions: Mapping[int, str] | None = None
    ) -> None:
        listed = "; ".join(
            f"turn {turn}: {text[:_QUESTION_LENGTH]}" for turn, text in (questions or {}).items()
        )
        why = ": ".join(filter(None, (_REFUSED_REPLIES[word], listed)))
        super().__init__(f"session {session_id!r} refused the answer of {name!r}: {why}")
        self.session_id = session_id
        self.name = name
        self.word = word
        self.questions = dict(questions or {})


class WaitInTurn(SessionError):
    """An agent must not wait for a session in its turn, because it would hold a thread of the worker."""

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"session {session_id!r} cannot be waited for in a turn of an agent, which would hold a thread of the "
            "worker; return TurnOutcome.call_session(NAME, TEXT) to call a sub-session"
        )
        self.session_id = session_id


class SessionFailed(SessionError):
    """The session was cancelled, also because an agent failed: `session_id`, `reason`, `detail`."""

    def __init__(self, session_id: str, reason: str = "", detail: str = "") -> None:
        super().__init__(f"session {session_id!r} was not completed: {reason}{detail and f' ({detail})'}")
        self.message = str(self)
        self.session_id = session_id
        self.reason = reason
        self.detail = detail
        # Celery's result backends store these, and call the class with them.
        self.args = (session_id, reason, detail)

    def __str__(self) -> str:
        return self.message if hasattr(self, "message") else super().__str__()


class WaitInTask(SessionError):
    """A Celery task must not wait for a session, because it would hold a place of the worker's pool."""

    def __init__(self, session_id: str) -> None:
        super().__init__(
            f"session {session_id!r} cannot be waited for in a Celery task, which would hold a place of the worker's "
            "pool; use symposia.session as a step of a chain, or give allow_join=True to a call that takes it"
        )
        self.session_id = session_id


class ResultTimeout(SessionError, TimeoutError):
    """The session did not end, or asked no question, within `timeout_s` seconds.

    It keeps running, unless `then` says otherwise.
    """

    def __init__(
        self,
        session_id: str,
        *,
        timeout_s: float,
        missed: str = "did not end",
        then: str = "it keeps running",
    ) -> None:
        super().__init__(f"session {session_id!r} {missed} within {timeout_s:g} s; {then}")
        self.session_id = session_id
        self.timeout_s = timeout_s


class StateError(SymposiaError):
    """The live state in Redis cannot be read or changed."""


class RedisUnavailable(StateError, ConnectionError):
    """Redis does not answer; `url` and `hint` contain no password."""

    def __init__(self, url: str, *, hint: str = "") -> None:
        self.url = without_password(url)
        self.hint = without_password(hint)
        super().__init__(f"Redis at {self.url} does not answer" + (f": {self.hint}" if hint else ""))


class NoRedis(RedisUnavailable):
    """No Redis is configured, and the embedded server of the project does not run."""

    def __init__(self, project: str) -> None:
        self.url = ""
        self.hint = "start it with `symposia up`, or set redis_url (SYMPOSIA_REDIS_URL)"
        SymposiaError.__init__(
            self, f"no Redis is configured, and the embedded server of {project} is not running: {self.hint}"
        )


class ClientClosed(SymposiaError):
    """The client is closed: create another one."""


class BrokerUnavailable(SymposiaError, ConnectionError):
    """The broker does not answer; `url` and `hint` contain no password."""

    def __init__(self, url: str, *, hint: str = "") -> None:
        self.url = without_password(url)
        self.hint = without_password(hint)
        super().__init__(f"the broker at {self.url} does not answer" + (f": {self.hint}" if hint else ""))


class UnsuitableQueue(SymposiaError):
    """A queue of RabbitMQ exists with other properties than this process declares; `detail` is the broker's answer."""

    def __init__(self, queue: str, *, detail: str) -> None:
        self.queue = queue
        self.detail = without_password(one_line(detail))
        super().__init__(
            f"the queue {queue!r} of RabbitMQ has another type: set SYMPOSIA_QUEUE_TYPE (quorum or classic) for all workers "
            f"and clients, or delete the queue, whose messages the sweep sends again ({self.detail})"
        )


#: Message for a URL of the wrong kind, by the kind that was found.
_WRITE: dict[RedisKind, str] = {
    RedisKind.SINGLE: "a single server, not a {kind}: use {scheme}://{nodes}/0",
    RedisKind.CLUSTER: (
        "a node of a Redis Cluster: use {scheme}+cluster://{nodes} and set SYMPOSIA_BROKER_URL to another "
        "broker, because Celery has no transport for a cluster"
    ),
    RedisKind.SENTINEL: "a Sentinel: use {scheme}+sentinel://{nodes}/MASTER-NAME/0",
}


class UnsuitableRedis(RedisUnavailable):
    """The server is of another kind than the URL; `found` is its kind, `hint` the URL to use."""

    def __init__(self, url: str, *, found: RedisKind) -> None:
        super().__init__(url)
        address = RedisAddress.parse(url)
        nodes = ",".join(f"{host}:{port}" for host, port in address.nodes)
        scheme = "rediss" if address.is_tls else "redis"
        kind = "Sentinel" if address.kind is RedisKind.SENTINEL else "Redis Cluster"
        self.found = found
        self.hint = _WRITE[found].format(kind=kind, scheme=scheme, nodes=nodes)
        self.args = (one_line(f"Redis at {self.url} is {self.hint}"),)


class ScriptError(StateError):
    """A Lua script failed (a bug, or an unsupported server); `verb` is its name."""

    def __init__(self, verb: str, detail: str) -> None:
        super().__init__(f"script {verb!r} failed: {detail}")
        self.verb = verb
        self.detail = detail


class CorruptSession(StateError):
    """The state of a session in Redis is not valid; `part` is the damaged part, e.g. `events`."""

    def __init__(self, session_id: str, *, part: str, detail: str) -> None:
        super().__init__(f"{part} of session {session_id!r} cannot be read: {detail}")
        self.session_id = session_id
        self.part = part
        self.detail = detail


class NewerFormat(StateError):
    """A newer version of Symposia wrote a session, batch review or schedule in a format that this one cannot read."""

    def __init__(self, kind: str, name: str, *, written: int, newest: int) -> None:
        super().__init__(
            f"{kind} {name!r} was written by a newer version of Symposia"
            f" (format {written}, this version reads up to {newest})"
        )
        self.kind = kind
        self.name = name
        self.written = written
        self.newest = newest


class CorruptMemory(StateError):
    """A stored dialog memory cannot be read; `detail` is the reason, without its content."""

    def __init__(self, detail: str) -> None:
        super().__init__(f"the stored dialog memory cannot be read: {detail}")
        self.detail = detail


class CorruptSchedule(StateError):
    """A stored schedule cannot be read."""

    def __init__(self, name: str) -> None:
        super().__init__(f"stored schedule {name!r} cannot be read; remove it and add it again")
        self.name = name


class EmbeddedServerError(StateError):
    """The embedded server cannot be started."""


class PortTaken(EmbeddedServerError):
    """Another program already listens on the port."""


class ServiceEnded(StateError):
    """A service ended repeatedly and is not restarted."""


class ArchiveError(SymposiaError):
    """The archive cannot be read or changed."""


class ArchiveUnavailable(ArchiveError, ConnectionError):
    """The database of the archive does not answer; `url` and `hint` contain no password."""

    def __init__(self, url: str, *, hint: str = "") -> None:
        self.url = without_password(url)
        self.hint = without_password(hint)
        super().__init__(f"the archive at {self.url} does not answer" + (f": {self.hint}" if hint else ""))


class NotRestorable(ArchiveError):
    """A session cannot be restored from the archive; `why` is the reason."""

    def __init__(self, session_id: str, *, why: str) -> None:
        super().__init__(f"session {session_id!r} cannot be restored: {why}")
        self.session_id = session_id
        self.why = why


class ReplayDiffers(SymposiaError):
    """The replay of a session differs from its record.

    Attributes:
        session_id: Id of the session.
        turn: Number of the turn; for the end of the session, of the last turn.
        participant: Participant of the turn; empty: the plan or the end of the session differs.
        differences: What differs, each in one line.
    """

    def __init__(
        self, session_id: str, *, turn: int, participant: str = "", differences: Iterable[str]
    ) -> None:
        self.session_id = session_id
        self.turn = turn
        self.participant = participant
        self.differences = tuple(one_line(difference) for difference in differences)
        who = f" ({participant})" if participant else ""
        super().__init__(f"turn {turn}{who} differs from the record: {'; '.join(self.differences)}")


class NotRecorded(SymposiaError):
    """A session cannot be replayed, because its calls were not recorded."""

    def __init__(self, session_id: str) -> None:
        hint = "submit sessions with record=True (`symposia run --record`), or set SYMPOSIA_RECORD_CALLS=true"
        super().__init__(f"session {session_id!r} was not recorded: {hint}")
        self.session_id = session_id


class ConversationError(SymposiaError):
    """A task or conversation cannot be used this way."""


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
    """Members of a conversation must be participants of its task; `agents` are not."""

    def __init__(self, task_id: str, agents: Iterable[str]) -> None:
        self.task_id = task_id
        self.agents = tuple(agents)
        super().__init__(f"not participants of task {task_id!r}: {', '.join(map(repr, self.agents))}")


class ConversationFullError(ConversationError):
    """A conversation has reached its maximum number of members."""

    def __init__(self, conversation_id: str, *, limit: int) -> None:
        super().__init__(f"conversation {conversation_id!r} is full: it can have at most {limit} members")
        self.conversation_id = conversation_id
        self.limit = limit


class ConversationArchivedError(ConversationError):
    """An archived conversation does not accept messages."""

    def __init__(self, conversation_id: str) -> None:
        super().__init__(f"conversation {conversation_id!r} is archived and does not accept messages")
        self.conversation_id = conversation_id


class TaskClosedError(ConversationError):
    """Only an active task accepts changes and messages."""

    def __init__(self, task_id: str, status: str) -> None:
        super().__init__(f"task {task_id!r} is {status}: only an active task accepts changes and messages")
        self.task_id = task_id
        self.status = str(status)


class TaskRejectedError(ConversationError):
    """The task-manager rejected the task; `reason` is its reason."""

    def __init__(self, task_id: str, reason: str) -> None:
        super().__init__(f"task {task_id!r} was rejected: {reason}")
        self.task_id = task_id
        self.reason = reason


class LeaseLost(SymposiaError):
    """The lease of a turn expired or was revoked while the agent was running."""

    def __init__(self, session_id: str, turn_number: int) -> None:
        super().__init__(
            f"turn {turn_number} of session {session_id!r}: the lease expired or was revoked while the agent was running"
        )
        self.session_id = session_id
        self.turn_number = turn_number


class TurnFailed(SymposiaError):
    """The last attempt of a turn failed, or a failure ended its session; Celery marks the task as failed.

    Its `__cause__` is the exception of the agent, if the agent raised one.

    Attributes:
        agent_traceback: The traceback of the agent as text without secrets; empty if there is none.
    """

    def __init__(self, message: str = "", *, agent_traceback: str = "") -> None:
        super().__init__(message)
        self.agent_traceback = agent_traceback


class AgentError(SymposiaError):
    """An agent failed to take its turn.

    Attributes:
        retryable: Whether a retry may succeed.
        retry_after_s: Seconds to wait before a retry, as requested by the refusing service; None if not given.
        origin: Location in the agent's own code that raised it; None if it was raised elsewhere.
        original: Exception that was converted to this error; None if the agent raised this one.
    """

    origin: ErrorOrigin | None = None
    original: BaseException | None = None

    def __init__(
        self, message: str = "", *, retryable: bool = True, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class AgentFailed(AgentError):
    """The agent raised an error."""


class ToolServerFailed(AgentFailed):
    """An MCP server cannot be reached, or breaks the protocol."""


class MailNotAnswered(AgentFailed):
    """The connection to a mail server was lost, or the time is over: it may have accepted the message."""


class AgentTimeout(AgentError):
    """The agent did not answer before the turn's deadline."""


class BadOutcome(AgentError):
    """The agent's answer is not a valid turn outcome."""

    def __init__(self, message: str = "", *, retryable: bool = False) -> None:
        super().__init__(message, retryable=retryable)


class ReviewError(SymposiaError):
    """A batch review cannot continue."""


class ReviewNotFound(ReviewError):
    """The review run is unknown or was pruned."""

    def __init__(self, run_id: str) -> None:
        super().__init__(f"review {run_id!r} not found (unknown id or pruned)")
        self.run_id = run_id


class GitFailed(ReviewError):
    """A `git` command failed."""


class OtherCommit(InvalidInput):
    """The remote has another commit of a pull request than its code host has listed."""

    def __init__(self, head: str, fetched: str) -> None:
        rule = f"must be {fetched}, as at the remote: was it pushed meanwhile, or is `origin` another repository?"
        super().__init__("head", head, rule)


class DeliveryFailed(ReviewError):
    """A report could not be delivered.

    Attributes:
        retryable: Whether a retry may succeed.
        retry_after_s: Seconds to wait before a retry, as requested by the receiver; None if not given.
    """

    def __init__(
        self, message: str = "", *, retryable: bool = True, retry_after_s: float | None = None
    ) -> None:
        super().__init__(message)
        self.retryable = retryable
        self.retry_after_s = retry_after_s


class MissingPackage(SymposiaError, ImportError):
    """A package is not installed: `package`, and `extra` as in `symposia[extra]`, if an extra has it."""

    def __init__(self, what: str, *, package: str, extra: str | None = None) -> None:
        wanted = package if extra is None else f"'symposia[{extra}]'"
        super().__init__(f"{what} needs the package {package}: pip install {wanted}")
        self.package = package
        self.extra = extra


class LocalModelError(SymposiaError):
    """The local model cannot be started."""


class RegistryError(SymposiaError):
    """The agents file breaks a rule: `file`, `entry` (a table such as `agents.coder`), `field`, `rule`."""

    def __init__(self, file: str, *, entry: str, field: str, rule: str) -> None:
        prefix = f"[{entry}] " if entry else ""
        super().__init__(f"{file}: {prefix}{field + ': ' if field else ''}{rule}")
        self.file = file
        self.entry = entry
        self.field = field
        self.rule = rule


_SUBJECT = re.compile(r"^\w+ should ")
_COUNTED = re.compile(r" after validation, not \d+$")


@contextmanager
def within(prefix: str) -> Iterator[None]:
    """Prepend a prefix to the path of the field of an `InvalidInput` that the block raises."""
    try:
        yield
    except InvalidInput as error:
        raise error.within(prefix) from None


def first_problem(error: ValidationError) -> ErrorDetails:
    """Return the first problem that pydantic found; an unknown field before a missing one, which it may be."""
    first, *others = error.errors(include_url=False)
    if first["type"] == "missing":
        unknown = (
            problem
            for problem in others
            if problem["type"] == "extra_forbidden" and problem["loc"][:-1] == first["loc"][:-1]
        )
        return next(unknown, first)
    return first


def check_known(table: Mapping[str, object], known_names: Collection[str]) -> None:
    """Check that a table has only known fields.

    Raises:
        InvalidInput: It has another one; the error names the nearest known one.
    """
    for name, value in table.items():
        if name not in known_names:
            raise InvalidInput(
                str(name), value, f"is not a known field{did_you_mean(str(name), known_names)}"
            )


def invalid_input(error: ValidationError, prefix: str = "") -> InvalidInput:
    """Convert the first problem pydantic found to an `InvalidInput`.

    Args:
        error: Error of a pydantic model.
        prefix: Path to prepend to the field's path.

    Returns:
        The error. An `InvalidInput` raised by a validator is kept, under the path of that validator.
    """
    first = first_problem(error)
    path = "".join(f"[{part}]" if isinstance(part, int) else f".{part}" for part in first["loc"]).lstrip(".")
    cause = first.get("ctx", {}).get("error")
    if isinstance(cause, InvalidInput):
        return cause.within(path).within(prefix)
    value: object = first["input"]
    match first["type"]:
        case "missing":
            value, rule = ABSENT, "is required"
        case "extra_forbidden":
            rule = f"is not a known field{did_you_mean(str(first['loc'][-1]), known_fields(error.title, first['loc']))}"
        case "value_error":
            rule = str(cause)
        case "union_tag_invalid" | "union_tag_not_found":
            context = first["ctx"]
            tag_field = context["discriminator"].strip("'")
            path, value = f"{path}.{tag_field}".lstrip("."), context.get("tag", ABSENT)
            rule = f"must be one of {context['expected_tags']}" if "tag" in context else "is required"
        case "model_type":
            rule = "must be an object with fields"
        case "string_unicode":
            rule = "must be valid UTF-8 text"
        case _:
            rule = _COUNTED.sub("", _SUBJECT.sub("must ", first["msg"])).replace("a valid tuple", "a list")
    return InvalidInput(path, value, rule).within(prefix)

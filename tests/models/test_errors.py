"""The exception tree: one root, clear lines, no secrets, and nothing lost on the way between processes."""

import inspect
import pickle
from enum import Enum

import pytest
from hypothesis import given
from hypothesis import strategies as st
from pydantic import BaseModel, Field, ValidationError, field_validator

from symposia.models import errors
from symposia.models.errors import (
    AgentError,
    AgentFailed,
    AgentTimeout,
    AmbiguousId,
    ArchiveError,
    ArchiveUnavailable,
    AttachmentUnavailable,
    BadOutcome,
    BrokerUnavailable,
    ClientClosed,
    ConversationArchivedError,
    ConversationError,
    ConversationFullError,
    CorruptMemory,
    CorruptSchedule,
    CorruptSession,
    DeliveryFailed,
    DialogNotActive,
    EmbeddedServerError,
    Forbidden,
    GitFailed,
    IllegalTransition,
    InvalidInput,
    InvalidSessionFile,
    InvariantViolation,
    LeaseLost,
    LifecycleError,
    LocalModelError,
    Locked,
    MailNotAnswered,
    MessageTooLarge,
    MissingPackage,
    NewerFormat,
    NoRedis,
    NotAMember,
    NotLive,
    NotRecorded,
    NotRestorable,
    NotTaskManager,
    OtherCommit,
    ParticipantNotAdmittedError,
    PartlySubmitted,
    PortTaken,
    RedisUnavailable,
    RegistryError,
    ReplayDiffers,
    ReplyRefused,
    ResultTimeout,
    ReviewError,
    ReviewNotFound,
    ScheduleNotFound,
    ScriptError,
    ServiceEnded,
    SessionConflict,
    SessionEnded,
    SessionError,
    SessionFailed,
    SessionNotFound,
    StateError,
    SymposiaError,
    TaskClosedError,
    TaskRejectedError,
    ToolServerFailed,
    TurnFailed,
    Unauthorized,
    UnknownAgent,
    UnsuitableQueue,
    UnsuitableRedis,
    WaitInTask,
    WaitInTurn,
    invalid_input,
)
from symposia.models.protocol.collab import Collab, CollabMode, Participant
from symposia.models.protocol.dialog import Message, Role
from symposia.models.text.redact import ABSENT
from symposia.models.text.redis_address import RedisKind

EXAMPLES = {
    SymposiaError(): "Symposia failed.",
    PartlySubmitted(
        submitted=["3f2a91c4"],
        unknown=[],
        missing=["5b60d7e1"],
        cause=RedisUnavailable("redis://a:6379"),
    ): (
        "1 of 2 sessions were submitted, 0 may have been; submit the same sessions again under their ids: "
        "Redis at redis://a:6379 does not answer"
    ),
    InvalidInput("title", " ", "must not be blank"): "title: must not be blank (got ' ')",
    AmbiguousId("3f2a91c4", ["3f2a91c4-a", "3f2a91c4-b"]): (
        "ambiguous: 2 sessions start with '3f2a91c4' (3f2a91c4-a, 3f2a91c4-b)"
    ),
    InvariantViolation(
        "map_pair_exactly_two", field="participants", value=3, rule="must have exactly 2 items in mode 'pair'"
    ): "participants: must have exactly 2 items in mode 'pair' (got 3) [map_pair_exactly_two]",
    UnknownAgent("codr", known=["tester", "coder"], field="agents.a"): (
        "agents.a: must be a registered agent, did you mean coder? (got 'codr')"
    ),
    UnknownAgent("x"): "agent: must be a registered agent (got 'x')",
    MessageTooLarge(2048, limit_bytes=1024): "content: must be at most 1024 bytes of UTF-8 (got 2048)",
    InvalidSessionFile("a.yaml", rule="must be YAML or JSON"): "a.yaml: must be YAML or JSON",
    InvalidSessionFile("a.yaml", field="mode", value="x", rule="must be a mode"): (
        "a.yaml: mode: must be a mode (got 'x')"
    ),
    LifecycleError(): "The status of a collab or dialog does not allow this.",
    IllegalTransition(
        "collab", "completed", "active"
    ): "session has already ended (completed) and cannot be resumed",
    Locked("dialog", "d1"): "dialog 'd1' cannot be changed: its governance.locked is set",
    DialogNotActive("d1", "paused"): "dialog 'd1' is paused: only active dialogs accept messages",
    SessionEnded("s1", "completed"): "session 's1' has already ended (completed) and cannot be changed",
    ArchiveError(): "The archive cannot be read or changed.",
    ArchiveUnavailable("postgresql://me:hunter2@db/x", hint="refused"): (
        "the archive at postgresql://me:***@db/x does not answer: refused"
    ),
    NotLive("s1"): "session 's1' is in the archive only; continue it with `symposia restore`",
    NotLive(
        "s1", ended="completed"
    ): "session 's1' has already ended (completed) and cannot be changed; it is in the archive only",
    NotRestorable("s1", why="it is already live"): "session 's1' cannot be restored: it is already live",
    ReplayDiffers("s1", turn=2, participant="ann", differences=["another model"]): (
        "turn 2 (ann) differs from the record: another model"
    ),
    NotRecorded("s1"): (
        "session 's1' was not recorded: submit sessions with record=True (`symposia run --record`), "
        "or set SYMPOSIA_RECORD_CALLS=true"
    ),
    ConversationError(): "A task or conversation cannot be used this way.",
    NotTaskManager("ann", "t1"): "'ann' is not the task-manager of 't1'",
    NotAMember("ann", "c1"): "'ann' is not a member of 'c1'",
    ParticipantNotAdmittedError("t1", ["eve", "mal"]): "not participants of task 't1': 'eve', 'mal'",
    ConversationFullError("c1", limit=256): "conversation 'c1' is full: it can have at most 256 members",
    ConversationArchivedError("c1"): "conversation 'c1' is archived and does not accept messages",
    TaskClosedError("t1", "closed"): "task 't1' is closed: only an active task accepts changes and messages",
    TaskRejectedError("t1", "no time"): "task 't1' was rejected: no time",
    SessionError(): "A session cannot be used this way.",
    AttachmentUnavailable("a.png", why="its bytes are missing"): (
        "attachment 'a.png' cannot be read: its bytes are missing"
    ),
    SessionNotFound("s1"): "session 's1' not found (unknown id or expired)",
    SessionNotFound("s1", "the archive needs the package sqlalchemy"): (
        "session 's1' not found (unknown id or expired); not searched: the archive needs the package sqlalchemy"
    ),
    ScheduleNotFound("nightly"): "schedule 'nightly' not found",
    SessionConflict("s1"): "session 's1' already exists with different content; use a new collab_id",
    ReplyRefused("s1", "ben", "late"): ("session 's1' refused the answer of 'ben': the deadline has passed"),
    WaitInTask(
        "s1"
    ): "session 's1' cannot be waited for in a Celery task, which would hold a place of the worker's pool; "
    "use symposia.session as a step of a chain, or give allow_join=True to a call that takes it",
    WaitInTurn(
        "s1"
    ): "session 's1' cannot be waited for in a turn of an agent, which would hold a thread of the "
    "worker; return TurnOutcome.call_session(NAME, TEXT) to call a sub-session",
    SessionFailed("s1", reason="failed", detail="ann"): "session 's1' was not completed: failed (ann)",
    ResultTimeout("s1", timeout_s=2.5): "session 's1' did not end within 2.5 s; it keeps running",
    ReviewError(): "A batch review cannot continue.",
    ReviewNotFound("r1"): "review 'r1' not found (unknown id or pruned)",
    GitFailed("no repository"): "no repository",
    OtherCommit("aaa", "bbb"): (
        "head: must be bbb, as at the remote: was it pushed meanwhile, or is `origin` another repository? (got 'aaa')"
    ),
    DeliveryFailed("not there", retryable=False, retry_after_s=2.0): "not there",
    StateError(): "The live state in Redis cannot be read or changed.",
    NoRedis("/home/ann/shop"): (
        "no Redis is configured, and the embedded server of /home/ann/shop is not running: "
        "start it with `symposia up`, or set redis_url (SYMPOSIA_REDIS_URL)"
    ),
    RedisUnavailable("redis://:pw@host:6379/0", hint="start one with `symposia up`"): (
        "Redis at redis://:***@host:6379/0 does not answer: start one with `symposia up`"
    ),
    ClientClosed(): "The client is closed: create another one.",
    Unauthorized(): "The credentials are missing or not valid.",
    Forbidden("reply"): "the caller lacks the scope 'reply'",
    UnsuitableQueue("symposia", detail="PRECONDITION_FAILED"): (
        "the queue 'symposia' of RabbitMQ has another type: set SYMPOSIA_QUEUE_TYPE (quorum or classic) for all workers "
        "and clients, or delete the queue, whose messages the sweep sends again (PRECONDITION_FAILED)"
    ),
    BrokerUnavailable("amqp://me:pw@host//", hint="refused"): (
        "the broker at amqp://me:***@host// does not answer: refused"
    ),
    UnsuitableRedis("rediss://me:pw@host:6379/0", found=RedisKind.CLUSTER): (
        "Redis at rediss://me:***@host:6379/0 is a node of a Redis Cluster: use rediss+cluster://host:6379 and set "
        "SYMPOSIA_BROKER_URL to another broker, because Celery has no transport for a cluster"
    ),
    ScriptError("commit", "wrong type"): "script 'commit' failed: wrong type",
    NewerFormat("session", "s1", written=3, newest=1): (
        "session 's1' was written by a newer version of Symposia (format 3, this version reads up to 1)"
    ),
    CorruptSchedule("nightly"): ("stored schedule 'nightly' cannot be read; remove it and add it again"),
    CorruptMemory("no JSON"): "the stored dialog memory cannot be read: no JSON",
    CorruptSession("s1", part="events", detail="id is required"): (
        "events of session 's1' cannot be read: id is required"
    ),
    EmbeddedServerError(): "The embedded server cannot be started.",
    PortTaken(): "Another program already listens on the port.",
    ServiceEnded(): "A service ended repeatedly and is not restarted.",
    ReviewError(): "A batch review cannot continue.",
    ReviewNotFound("r1"): "review 'r1' not found (unknown id or pruned)",
    GitFailed("git is not installed"): "git is not installed",
    DeliveryFailed("board answers 503", retry_after_s=7): "board answers 503",
    MissingPackage(
        "the archive", package="sqlmodel", extra="archive"
    ): "the archive needs the package sqlmodel: pip install 'symposia[archive]'",
    LocalModelError(): "The local model cannot be started.",
    TurnFailed(
        "failed: RuntimeError: x; the turn is skipped"
    ): "failed: RuntimeError: x; the turn is skipped",
    LeaseLost("s1", 3): (
        "turn 3 of session 's1': the lease expired or was revoked while the agent was running"
    ),
    AgentError("boom", retryable=False): "boom",
    AgentFailed(): "The agent raised an error.",
    AgentTimeout("too slow"): "too slow",
    ToolServerFailed("files: no answer"): "files: no answer",
    MailNotAnswered("mail.example.com does not answer"): "mail.example.com does not answer",
    BadOutcome(): "The agent's answer is not a valid turn outcome.",
    RegistryError("agents.toml", entry="agents.a", field="kind", rule="is required"): (
        "agents.toml: [agents.a] kind: is required"
    ),
}

TREE = [kind for _, kind in inspect.getmembers(errors, inspect.isclass) if issubclass(kind, SymposiaError)]


def test_every_exception_has_an_example():
    assert {type(error) for error in EXAMPLES} == set(TREE)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_error_message_is_one_clear_line(error):
    assert str(error) == EXAMPLES[error]
    assert "\n" not in str(error)


@pytest.mark.parametrize("error", EXAMPLES, ids=lambda error: type(error).__name__)
def test_exception_survives_pickling(error):
    error.add_note("seen twice")
    revived = pickle.loads(pickle.dumps(error))  # noqa: S301 - our own bytes
    assert type(revived) is type(error)
    assert str(revived) == str(error)
    assert vars(revived) == vars(error)


def test_documented_exception_tree_is_correct():
    drawn, path = {}, []
    for line in inspect.getdoc(errors).splitlines()[2:]:
        name = line.strip(" │├└─").split(" ")[0]
        if not name:
            break
        depth = line.index(name) // 4 - 1
        path[depth:] = [name]
        drawn[name] = path[depth - 1] if depth else "Exception"
    assert drawn == {kind.__name__: kind.__bases__[0].__name__ for kind in TREE}


@pytest.mark.parametrize(
    ("kind", "builtin"),
    [(InvalidInput, ValueError), (ResultTimeout, TimeoutError), (RedisUnavailable, ConnectionError)],
)
def test_some_errors_are_also_builtin_exceptions(kind, builtin):
    assert issubclass(kind, builtin)


def test_agent_errors_know_if_they_are_retryable():
    assert AgentFailed().retryable
    assert AgentTimeout().retryable
    assert not AgentFailed(retryable=False).retryable
    assert not BadOutcome().retryable


class Colour(Enum):
    RED = "red"


@pytest.mark.parametrize(
    ("value", "shown"),
    [
        (ABSENT, "nothing"),
        (None, "None"),
        (1.5, "1.5"),
        (True, "True"),
        (Colour.RED, "'red'"),
        (b"ab", "b'ab'"),
        ("two\nlines", r"'two\nlines'"),
        ("x" * 10_000_000, "'" + "x" * 76 + "..."),
        (10**5000, "a very large integer"),
        ({}, "{}"),
        ([], "[]"),
        ({"password": "p"}, "a mapping of 1"),
        (["sk-1", "sk-2"], "a list of 2"),
        (object(), "a object"),
        ("redis://user:p@ss/w0rd@host/0", "'redis://user:***@host/0'"),
        ("redis://host:6379/0", "'redis://host:6379/0'"),
    ],
    ids=lambda value: type(value).__name__,
)
def test_a_value_is_shown_short_and_without_secrets(value, shown):
    assert InvalidInput("field", value, "must be otherwise").value == shown


@pytest.mark.parametrize("field", ["password", "agents.a.api_key", "client_secret", "redis_passwd", "apiKey"])
def test_secret_field_value_is_never_shown_or_kept(field):
    error = InvalidInput(field, "hunter2", "must be longer")
    assert "hunter2" not in str(error)
    assert b"hunter2" not in pickle.dumps(error)


@given(st.text(alphabet=st.characters(exclude_categories=["Z", "C"]), min_size=1, max_size=60))
def test_no_password_in_a_url_reaches_a_message(password):
    error = RedisUnavailable(f"redis://user:{password}@host:6379/0")
    assert error.url == "redis://user:***@host:6379/0"


GOOD = {"title": "a", "purpose": "b", "mode": "pair", "participants": [{"participant_id": "c"}]}
MODES = "'broadcast', 'round_robin', 'orchestrated', 'swarm' or 'pair'"


@pytest.mark.parametrize(
    ("changes", "message"),
    [
        ({"title": ""}, "title: must have at least 1 character (got '')"),
        ({"title": 5}, "title: must be a valid string (got 5)"),
        ({"title": "\ud800"}, r"title: must be valid UTF-8 text (got '\ud800')"),
        ({"purpose": ""}, "purpose: must have at least 1 character (got '')"),
        ({"mode": "chat"}, f"mode: must be {MODES} (got 'chat')"),
        ({"collab_id": "1"}, "collab_id: must be a UUID v4 (got '1')"),
        ({"participants": []}, "participants: must have at least 1 item (got [])"),
        ({"participants": "abc"}, "participants: must be a list (got 'abc')"),
        ({"participants": [{}]}, "participants[0].participant_id: is required (got nothing)"),
        (
            {"participants": [{"participant_id": "c", "kind": "robot"}]},
            "participants[0].kind: must be 'agent', 'human', 'system' or 'external' (got 'robot')",
        ),
        ({"colour": "red"}, "colour: is not a known field (got 'red')"),
        ({"meta": {"tags": ["a", "a"]}}, "meta.tags: must not contain an entry twice (got a list of 2)"),
        (
            {"created_at": "yesterday"},
            "created_at: must be a date and time with a time zone, such as 2025-12-07T00:00:00.000Z (got 'yesterday')",
        ),
    ],
)
def test_bad_collab_field_names_field_value_and_rule(changes, message):
    with pytest.raises(InvalidInput) as caught:
        Collab(**{**GOOD, **changes})
    assert str(caught.value) == message


def test_bad_part_is_refused_in_the_same_way():
    with pytest.raises(InvalidInput, match=r"^participant_id: must not be blank \(got ' '\)$"):
        Participant(participant_id=" ")
    with pytest.raises(InvalidInput, match=r"^role: must be 'user', 'assistant', 'system' or 'agent'"):
        Message(role="narrator", content="once")


def test_unprintable_value_keeps_its_error():
    class Unprintable:
        def __repr__(self):
            raise RuntimeError

    with pytest.raises(InvalidInput, match=r"^content: must be a valid string \(got a Unprintable\)$"):
        Message(role=Role.USER, content=Unprintable())


class Plan(BaseModel):
    names: tuple[str, ...] = Field(max_length=1)
    seat: str = "a"

    @field_validator("seat")
    @classmethod
    def _known(cls, seat: str) -> str:
        if seat != "a":
            raise UnknownAgent(seat, known=["a"], field="")
        return seat


def _problem(**data: object) -> ValidationError:
    with pytest.raises(ValidationError) as caught:
        Plan(**data)
    return caught.value


def test_pydantic_error_becomes_one_line_with_a_prefix():
    error = invalid_input(_problem(names=["a", "b"]), "plans[2]")
    assert str(error) == "plans[2].names: must have at most 1 item (got a list of 2)"


def test_nested_error_keeps_its_class():
    error = invalid_input(_problem(names=[], seat="b"), "plan")
    assert isinstance(error, UnknownAgent)
    assert str(error) == "plan.seat: must be a registered agent: a (got 'b')"


def test_collab_mode_may_be_an_enum_or_text():
    assert Collab(**GOOD).mode is CollabMode.PAIR


@pytest.mark.parametrize(
    "error",
    [
        InvalidInput("a\nb", "x", "must be\x1b[2J so"),
        UnknownAgent("x", known=["a\nb"], field="agents.\r"),
        RegistryError("a.toml", entry="agents.\n", field="x", rule="y"),
        AgentFailed("one\ntwo"),
        InvalidInput(
            "a", "x", "must be the id of a participant: " + ", ".join("p" * 200 for _ in range(1_000))
        ),
    ],
)
def test_error_message_is_one_short_line_for_any_name(error):
    assert str(error).isprintable()
    assert len(str(error)) <= 2_000

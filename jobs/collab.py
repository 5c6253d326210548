"""The job of a submitted session: reading, following, steering, answering questions."""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel
from redis import Redis

from ..models.alignment.ledger import Ledger
from ..models.errors import InvalidInput
from ..models.protocol.base import Event
from ..models.protocol.collab import Collab, CollabStatus, Participant
from ..models.protocol.dialog import Dialog, Message
from ..models.protocol.events import MapEvent
from ..models.sessions.limits import usage_by_participant
from ..models.sessions.options import AgentBinding
from ..models.sessions.plan import BoardEntry
from ..models.sessions.spec import SessionSpec
from ..models.text.ids import derived_id, moment_from_ms, new_id, timestamp_from_ms
from ..models.turns.deltas import Delta
from ..models.turns.turn import TurnState, Usage
from ..models.turns.waiting import Pending
from ..state.following.event_follower import END_ONLY, follow
from ..state.following.session_follower import SessionUpdate, watch
from ..state.presence import WorkerWatch
from ..state.redis.readers import Stream, StreamReader, read_stored
from ..state.sessions.index import SessionIndex
from ..state.sessions.queue_progress import queued_for_s
from ..state.sessions.records import SessionState
from ..state.sessions.store import SessionStore
from ..tasks.planning.advance import resend_all
from ..tasks.runtime.graph import TaskGraph
from ..tasks.runtime.parked_reports import report_dropped
from ..tasks.sessions.rendering import GraphFormat, draw, ledger_of, transcript_of
from ..tasks.sessions.steering import SessionSteering
from ..tasks.sessions.task_tree import last_spoken
from ..tasks.views.session_views import SessionFacts, read_facts
from ..tasks.waiting.parked_turn import read_all_questions
from ..tasks.waiting.replies import answer_question, find_question, request_planning

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Connections:
    """Connections of a job to its session."""

    redis: Redis
    #: URL for a new connection of each asynchronous follower, which belongs to one event loop.
    redis_url: str
    store: SessionStore
    index: SessionIndex
    graph: TaskGraph
    retention_ms: int
    max_message_bytes: int
    #: Check of new participants; raises if one cannot take part in a session run this way.
    check_joining: Callable[[SessionSpec, Participant], None]
    #: Creates the watch of a waiting call, which logs a warning if no worker is running. Its argument, such as
    #: `session ID`, says what the call waits for.
    watch_workers: Callable[[str], WorkerWatch]


@dataclass(frozen=True, slots=True)
class JobResult:
    """The end of a session, and all its messages."""

    collab: Collab
    dialog: Dialog
    #: Reason of the end: `satisfied`, `max_rounds`, `failed`, ...
    reason: str
    detail: str
    usage: Usage
    turns: int
    rounds: int

    @property
    def ok(self) -> bool:
        """Whether the session was completed, not cancelled or aborted."""
        return self.collab.status is CollabStatus.COMPLETED


class CollabJob:
    """One session. Every call reads its current state.

    All methods raise SessionNotFound when the session has expired, RedisUnavailable when Redis does not answer, and
    ClientClosed when the client is closed. With only the archive's copy (`is_live` is False), methods that change
    the session or wait for it raise NotLive.
    """

    #: Redis holds the session; False: only the archive does.
    is_live = True

    def __init__(self, facts: SessionFacts, connections: Connections) -> None:
        self._facts = facts
        self._connections = connections
        self._streams = StreamReader(connections.redis)

    @property
    def id(self) -> str:
        """Id of the session, which is that of its collab."""
        return self._facts.session_id

    @property
    def spec(self) -> SessionSpec:
        """Spec of the session: agents, stop conditions, options and policies."""
        self.state()
        return self._facts.spec

    def __repr__(self) -> str:
        return f"CollabJob({self.id!r})"

    # -- looking ----------------------------------------------------------------------------

    def state(self) -> SessionState:
        """Return counters and open turns."""
        state = self._connections.store.state(self.id)
        if state.edition != self._facts.edition:  # the session was steered
            self._facts = read_facts(self.id, self._connections.store.documents(self.id), state.opened_ms)
        return state

    def status(self) -> CollabStatus:
        """Return the status: draft, active, suspended, completed or cancelled."""
        return self.state().status

    def queued_for_s(self) -> float | None:
        """Return for how many seconds a message of the session has been queued without a worker.

        The value grows while no worker is running, and while all workers are busy.

        Returns:
            Seconds. None: nothing is queued.
        """
        return queued_for_s(self.state())

    def turn_state(self) -> TurnState:
        """Return whose turn it is (Collab module, section 5.2); between turns and at the end, the last speaker.

        Of several open turns, a running one comes before one that is only planned.
        """
        state = self.state()
        order = tuple(self._facts.roster)
        turn = min(state.open_turns(), key=lambda it: it.status == "planned", default=None)
        spoken = self._last_spoken() if turn is None else None
        name, began_ms = order[0], state.updated_ms
        if turn is not None:
            name, began_ms = turn.participant, turn.began_ms or began_ms
        elif spoken is not None:
            name, began_ms = spoken
        return TurnState(
            current_turn_holder=name,
            turn_order=order,
            turn_index=order.index(name) if name in order else 0,
            turn_started_at=timestamp_from_ms(began_ms),
        )

    def collab(self) -> Collab:
        """Return the collab with its status, its times, and the events that have no MAP type."""
        return self._collab(self.state())

    def dialog(self) -> Dialog:
        """Return the dialog with all messages so far."""
        return self._dialog(self.state())

    def ledger(self) -> Ledger:
        """Return the tensions, perspectives, scores and rounds of an alignment session so far."""
        return ledger_of(self.state())

    def transcript(self) -> str:
        """Return an alignment session as an alignment document.

        Raises:
            InvalidInput: It is not an alignment session.
        """
        state = self.state()
        return transcript_of(self._facts, state, self._collab(state), self._dialog(state))

    def board(self) -> tuple[BoardEntry, ...]:
        """Return the work items of a swarm in the order of their ids; none in other modes."""
        entries = self._connections.store.board(self.id)
        return tuple(self._read(BoardEntry, entries[item_id], "board") for item_id in sorted(entries))

    def usage(self) -> dict[str, Usage]:
        """Return the usage of each participant so far, by id, failed attempts included."""
        journal = (self._read(Event, text, "journal") for text in self._stream_texts("journal", False))
        return usage_by_participant(self.events(), journal)

    def graph(self, format: str = "mermaid") -> str:  # noqa: A002 - the usual name
        """Return the Celery tasks of the session as a graph.

        Args:
            format: `mermaid`, `dot` or `text`.

        Raises:
            InvalidInput: The format is unknown.
        """
        if format not in list(GraphFormat):
            raise InvalidInput("format", format, f"must be one of {', '.join(GraphFormat)}")
        return draw(self.events(), GraphFormat(format))

    # -- following --------------------------------------------------------------------------

    def messages(self, *, follow: bool = False) -> Iterator[Message]:
        """Iterate over the messages.

        Args:
            follow: Wait for more until the session ends. Logs a warning when no worker is running.
        """
        return (self._read(Message, text, "dialog") for text in self._stream_texts("dialog", follow))

    def events(self, *, follow: bool = False) -> Iterator[MapEvent]:
        """Iterate over the MAP events.

        Args:
            follow: Wait for more until the session ends. Logs a warning when no worker is running.
        """
        return (self._read(MapEvent, text, "events") for text in self._stream_texts("events", follow))

    def live(self, *, deltas: bool = True) -> Iterator[SessionUpdate | Delta | None]:
        """Iterate over all that happens until the session ends. Logs a warning when no worker is running.

        Args:
            deltas: Include the output of turns that are running. Models whose turns start from now on stream it.

        Yields:
            An event with the messages that it brought, or a piece of output. None about twice per second while
            nothing happens.
        """
        return watch(self._connections.redis, self.id, deltas=deltas, waiting=self._watch().check)

    def stream(self) -> Iterator[Delta | Message]:
        """Iterate over output piece by piece, and over each message when it is written, until the session ends.

        A piece with offset 0 restarts the output of its turn: it replaces an earlier attempt. A message replaces
        all pieces of its turn. `Drafts` does this bookkeeping.
        """
        for moment in self.live():
            yield from output_pieces(moment)

    def result(self, timeout: float | None = None) -> JobResult:
        """Wait for the end of the session. Logs a warning when no worker is running.

        Args:
            timeout: Seconds to wait. None: no limit.

        Returns:
            How the session ended, and all its messages.

        Raises:
            ResultTimeout: The session has not ended in time; it continues.
        """
        look = self._watch().check
        for _ in follow(
            self._connections.redis, self.id, "events", after=END_ONLY, timeout_s=timeout, waiting=look
        ):
            pass
        return self._result()

    # -- steering ---------------------------------------------------------------------------

    def suspend(self) -> None:
        """Pause the session. A turn that is running is held, and written when the session is resumed.

        Raises:
            IllegalTransition: The session is not active.
        """
        self._connections.store.suspend(self.id)
        self._mark_suspended(suspended=True)

    def resume(self) -> None:
        """Resume a suspended session.

        Raises:
            IllegalTransition: The session is not suspended.
        """
        # Before and after: if the process dies in between, the sweep still checks the session soon.
        self._connections.index.set_due_by(self.id, self._connections.index.now_ms())
        self._mark_suspended(suspended=False)  # the sweep corrects it if the session stays suspended
        state = self._connections.store.resume(self.id)
        self._connections.index.set_due_by(self.id, state.now_ms)
        resend_all(self._connections.graph, self._facts, state)

    def _mark_suspended(self, *, suspended: bool) -> None:
        self._connections.index.live.set_suspended(self.id, self._facts.collab.mode, suspended=suspended)

    def stop(self) -> None:
        """Complete the session when the turns that are running have ended.

        Raises:
            IllegalTransition: The session has already ended.
        """
        state = self._connections.store.request_stop(self.id)
        self._connections.index.set_due_by(self.id, state.now_ms)
        if read_all_questions(self._facts, state):  # no closing turn will request the next step
            request_planning(self._connections, state)

    def cancel(self, reason: str = "cancelled") -> None:
        """Cancel the session at once.

        Args:
            reason: The reason that the session's end records.

        Raises:
            IllegalTransition: The session has already ended.
        """
        to = self._connections
        state = to.store.cancel(self.id, reason=reason, retention_ms=to.retention_ms)
        to.index.mark_cancelled(self.id)
        report_dropped(to.graph, state, state.records)

    def add_participant(
        self,
        participant: str | Participant | Mapping[str, Any],
        agent: str | AgentBinding | Mapping[str, Any] | None = None,
        *,
        by: str = "user",
        key: str | None = None,
    ) -> None:
        """Add a participant from the next round on.

        Args:
            participant: The participant; an id is enough.
            agent: Its agent. None: the agent of the participant's own name, `human` for a person.
            by: Actor recorded in the event.
            key: Idempotency key: of calls with the same key, one makes the change (of the newest 64 changes).

        Raises:
            InvalidInput: A session with this participant is not valid; nothing has changed.
            SessionEnded: The session has ended.
            NotAMember: The agent is no member of the conversation in which the session runs.
            ParticipantNotAdmittedError: The task in which the session runs has not admitted the agent.
        """
        self._create_steering(by, key).add_participant(participant, agent)

    def remove_participant(self, name: str, *, by: str = "user", key: str | None = None) -> None:
        """Remove a participant from the next round on.

        Args:
            name: Id of the participant.
            by: Actor recorded in the event.
            key: Idempotency key, as in `add_participant`.

        Raises:
            InvalidInput: The session cannot continue without the participant; nothing has changed.
            SessionEnded: The session has ended.
        """
        self._create_steering(by, key).remove_participant(name)

    def instruct(self, name: str, text: str, *, by: str = "user", key: str | None = None) -> None:
        """Replace the instructions of a participant's agent from its next turn on.

        Args:
            name: Id of the participant.
            text: The instructions.
            by: Actor recorded in the event.
            key: Idempotency key, as in `add_participant`.

        Raises:
            InvalidInput: A value breaks a rule; nothing has changed.
            SessionEnded: The session has ended.
        """
        self._create_steering(by, key).instruct(name, text)

    def post(self, text: str, *, role: str = "user", by: str = "user", key: str | None = None) -> None:
        """Post a message from outside. It is written after the turns that are running.

        Args:
            text: The message.
            role: `user` or `system`.
            by: Actor recorded in the event.
            key: Idempotency key, as in `add_participant`.

        Raises:
            InvalidInput: A value breaks a rule; nothing has changed.
            SessionEnded: The session has ended.
        """
        self._create_steering(by, key).post(text, role=role)

    def _create_steering(self, by: str, key: str | None) -> SessionSteering:
        request = new_id() if key is None else derived_id(key)
        to = self._connections
        return SessionSteering(to.redis, self.id, by, to.max_message_bytes, to.check_joining, request)

    # -- answering --------------------------------------------------------------------------

    def pending(self) -> tuple[Pending, ...]:
        """Return the open questions by turn number: turns of people, and what agents ask people."""
        return tuple(asked.pending() for asked in read_all_questions(self._facts, self.state()))

    def reply(self, name: str, text: str, *, token: str | None = None, turn: int | None = None) -> None:
        """Answer the open question to a participant.

        Args:
            name: Id of the participant who was asked.
            text: The answer.
            token: Reply token of the question.
            turn: Turn number of the question. One of `token` and `turn` is required if several questions are open.

        Raises:
            InvalidInput: The text is blank, too long, or not one of the question's choices.
            ReplyRefused: No question waits for this answer, or it is not clear which; nothing has changed.
        """
        asked = find_question(self._facts, self.state(), name, turn=turn, token=token)
        answer_question(
            self._connections,
            asked,
            text,
            name=name,
            token=token,
            limit_bytes=self._connections.max_message_bytes,
        )

    # -- reading ----------------------------------------------------------------------------

    def _watch(self) -> WorkerWatch:
        return self._connections.watch_workers(f"session {self.id}")

    def _stream_texts(self, stream: Stream, follows: bool) -> Iterator[str]:
        if not follows:
            return (text for _, text in self._streams.whole(self.id, stream))
        look = self._watch().check
        return (text for _, text in follow(self._connections.redis, self.id, stream, waiting=look))

    def _read(self, kind: type[M], text: str, part: str) -> M:
        return read_stored(kind, text, session_id=self.id, part=part)

    def _last_spoken(self) -> tuple[str, int] | None:
        """Return the last speaker, and when their turn began (milliseconds since the epoch)."""
        entries = self._streams.newest_first(self.id, "events")
        return last_spoken(self._read(MapEvent, text, "events") for _, text in entries)

    def _collab(self, state: SessionState) -> Collab:
        events = tuple(self._read(Event, text, "journal") for text in self._stream_texts("journal", False))
        changed = {"status": state.status, "updated_at": moment_from_ms(state.updated_ms), "events": events}
        return self._facts.collab.model_copy(update=changed)

    def _dialog(self, state: SessionState) -> Dialog:
        return Dialog(
            dialog_id=self._facts.spec.dialog_id,
            context_id=self._facts.collab.context_id,
            thread_id=self._facts.spec.thread_id,
            status=state.dialog_status,
            messages=list(self.messages()),
            started_at=moment_from_ms(state.opened_ms),
            ended_at=None if state.ended_ms is None else moment_from_ms(state.ended_ms),
        )

    def _result(self) -> JobResult:
        state = self.state()
        return JobResult(
            collab=self._collab(state),
            dialog=self._dialog(state),
            reason=state.reason or "",
            detail=state.detail or "",
            usage=state.usage,
            turns=state.closed,
            rounds=state.rounds,
        )


def output_pieces(moment: SessionUpdate | Delta | None) -> tuple[Delta | Message, ...]:
    """Return the items of `stream` for one item of `live`."""
    if moment is None:
        return ()
    return (moment,) if isinstance(moment, Delta) else moment.messages


def connections_of(job: CollabJob) -> Connections:
    """Return the connections of a job. Only for this package."""
    return job._connections  # noqa: SLF001 - the only access


def streams_of(job: CollabJob) -> StreamReader:
    """Return the reader of a job's streams, live or archived. Only for this package."""
    return job._streams  # noqa: SLF001 - the only access


def facts_of(job: CollabJob) -> SessionFacts:
    """Return the settings of a job's session, as of its last call of `state`. Only for this package."""
    return job._facts  # noqa: SLF001 - the only access

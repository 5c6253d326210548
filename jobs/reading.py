"""Reading and following the session of a job: state, messages, events, live output, result."""

from __future__ import annotations

import re
from collections.abc import Callable, Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass
from typing import TYPE_CHECKING, Self, TypeVar

from pydantic import BaseModel
from redis import Redis

from ..models.alignment.ledger import Ledger
from ..models.attachments import Attachment
from ..models.errors import AttachmentUnavailable, InvalidInput, SessionNotFound, WaitInTask
from ..models.modes import mode_of
from ..models.protocol.base import Event
from ..models.protocol.collab import Collab, CollabStatus, Participant
from ..models.protocol.dialog import Dialog, Message, dialog_html
from ..models.protocol.events import MapEvent
from ..models.sessions.limits import usage_by_participant
from ..models.sessions.plan import FLOOR_SCOPE, BoardEntry
from ..models.sessions.spec import SessionSpec
from ..models.sessions.subsessions import ParentRef
from ..models.text.ids import entry_key, moment_from_ms, timestamp_from_ms
from ..models.text.words import count_of
from ..models.turns.streaming import Delta, ToolEvent
from ..models.turns.turn import TurnState
from ..models.turns.usage_table import UsageTable
from ..state.following import END_ONLY, SessionUpdate, follow, watch
from ..state.presence import WorkerPresence
from ..state.redis.readers import Entry, Stream, StreamReader, read_message, read_stored
from ..state.sessions.attachments import AttachmentStore
from ..state.sessions.family import FamilyStore, RegisteredChild
from ..state.sessions.index import SessionIndex
from ..state.sessions.live_sessions import queued_for_s
from ..state.sessions.records import SessionState
from ..state.sessions.store import SessionStore
from ..state.streams.pieces import stream_pieces
from ..state.worker_routes import WorkerWatch
from ..tasks.runtime.graph import TaskGraph
from ..tasks.sessions.rendering import ChildNode, GraphFormat, draw, ledger_of, output_of, transcript_of
from ..tasks.sessions.task_tree import last_spoken
from ..tasks.views.session_views import SessionFacts, read_facts
from ..tasks.views.turn_context import last_messages
from .attachments import attachments_of, find_attachment
from .blocking import blocks_worker, check_blocking_wait
from .result import Item, JobResult, items_of

if TYPE_CHECKING:
    from ..tasks.sessions.opening import SessionOpener

M = TypeVar("M", bound=BaseModel)

#: Id of an entry of a stream: milliseconds since the epoch, and counter.
_ENTRY_ID = re.compile(r"\d{1,15}-\d{1,16}")
#: Greater than every counter that such an id has.
_MAX_COUNTER = 10**16


@dataclass(frozen=True, slots=True)
class Connections:
    """Connections of a job to its session."""

    redis: Redis
    #: Returns the URL for a new connection of each asynchronous follower, which belongs to one event loop.
    find_redis_url: Callable[[], str]
    store: SessionStore
    index: SessionIndex
    graph: TaskGraph
    retention_ms: int
    max_message_bytes: int
    max_attachment_bytes: int
    #: Returns the opener of new sessions; what opens them is imported then.
    find_opener: Callable[[], SessionOpener]
    workers: WorkerPresence
    #: Check of new participants; raises if one cannot take part in a session run this way.
    check_joining: Callable[[SessionSpec, Participant], None]
    #: Creates the watch of a waiting call, which logs a warning if no worker is running. Its argument, such as
    #: `session ID`, says what the call waits for; further ones are those of the class.
    watch_workers: Callable[..., WorkerWatch]


def read_live_facts(connections: Connections, session_id: str) -> SessionFacts:
    """Return the facts of a session that Redis holds. Raises SessionNotFound."""
    store = connections.store
    state = store.state(session_id)
    return read_facts(session_id, store.documents(session_id), state.opened_ms)


class ReadableJob:
    """One session, for reading. Every call reads its current state."""

    #: Redis holds the session; False: only the archive does.
    is_live = True

    def __init__(
        self,
        facts: SessionFacts,
        connections: Connections,
        *,
        output_type: type[BaseModel] | None = None,
    ) -> None:
        self._output_type = output_type
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

    def _repr_html_(self) -> str:
        """Return the dialog so far and the status as HTML, for notebooks."""
        state = self.state()
        status = f"{state.status.value}, {count_of(state.closed, 'turn')}, {state.usage}"
        return dialog_html(self._facts.collab.title, self.messages(), status=status)

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

        No participant is the holder while turns of a broadcast or a swarm are open, or several turns: before the first
        one of `turn_order`, with index -1.
        """
        state = self.state()
        order = tuple(self._facts.roster)
        turn = min(state.open_turns(), key=lambda open_turn: open_turn.status == "planned", default=None)
        spoken = self._last_spoken() if turn is None else None
        name, began_ms = order[0], state.updated_ms
        if turn is not None:
            name, began_ms = turn.participant, turn.began_ms or began_ms
        elif spoken is not None:
            name, began_ms = spoken
        shared = turn is not None and turn.scope != FLOOR_SCOPE
        return TurnState(
            current_turn_holder=None if shared else name,
            turn_order=order,
            turn_index=-1 if shared else order.index(name) if name in order else 0,
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
        """Return the work items of a swarm in the order of the board; none in other modes."""
        entries = self._connections.store.board(self.id)
        board = (self._read(BoardEntry, text, "board") for text in entries.values())
        return tuple(sorted(board, key=lambda entry: entry.order))

    def items(self) -> tuple[Item, ...]:
        """Return the work items of a swarm with their results, in the order of the board; none in other modes."""
        board = self.board()
        return items_of(board, last_messages(self.messages()) if board else {})

    def attachments(self) -> tuple[Attachment, ...]:
        """Return the files of the messages, in the order of the dialog, each name and content once."""
        return attachments_of(self.messages())

    def attachment_data(self, wanted: Attachment | str) -> bytes:
        """Return the bytes of a file of the messages.

        Args:
            wanted: The file, its name, or 8 or more characters of its SHA-256 digest. Of several files with a name,
                the newest.

        Raises:
            InvalidInput: `wanted` is neither an attachment nor text.
            AttachmentUnavailable: No message has such a file, or its bytes are missing.
        """
        if not isinstance(wanted, Attachment | str):
            raise InvalidInput("wanted", wanted, "must be an Attachment, a name or the start of a digest")
        attachment = wanted if isinstance(wanted, Attachment) else find_attachment(self.attachments(), wanted)
        data = None if attachment is None else self._read_attachment(attachment.sha256)
        if attachment is None or data is None:
            why = f"no message of session {self.id} has it" if attachment is None else "its bytes are missing"
            raise AttachmentUnavailable(str(wanted if attachment is None else attachment.name), why=why)
        return data

    def _read_attachment(self, sha256: str) -> bytes | None:
        return AttachmentStore(self._connections.redis).read(self.id, sha256)

    @property
    def parent(self) -> ParentRef | None:
        """The turn that the session answers; None: it is no sub-session."""
        return self._facts.spec.parent

    def descendants(self) -> tuple[RegisteredChild, ...]:
        """Return ids, parents and turns of all sub-sessions below the session, each after its parent."""
        parent = self._facts.spec.parent
        registered = self._registered_children(parent.root if parent else self.id)
        return tuple(_below(self.id, registered))

    def children(self) -> list[Self]:
        """Return the sub-sessions of the session, by turn, without those that have expired."""
        jobs = []
        for link in self.descendants():
            if link.parent == self.id:
                with suppress(SessionNotFound):
                    jobs.append(self._open_job(link.session_id))
        return jobs

    def _open_job(self, session_id: str) -> Self:
        """Return another session of the same Redis."""
        return type(self)(read_live_facts(self._connections, session_id), self._connections)

    def _registered_children(self, root: str) -> tuple[RegisteredChild, ...]:
        return FamilyStore(self._connections.redis).list_children(root)

    def usage(self) -> UsageTable:
        """Return the usage of each participant so far, by id, failed attempts included."""
        journal = (self._read(Event, text, "journal") for _, text in self._stream_entries("journal", False))
        return UsageTable(usage_by_participant(self.events(), journal))

    def graph(self, format: str = "mermaid") -> str:  # noqa: A002 - the usual name
        """Return the Celery tasks of the session as a graph.

        Args:
            format: `mermaid`, `dot` or `text`.

        Raises:
            InvalidInput: The format is unknown.
        """
        if format not in list(GraphFormat):
            raise InvalidInput("format", format, f"must be one of {', '.join(GraphFormat)}")
        return draw(self.events(), GraphFormat(format), self._child_nodes())

    def _child_nodes(self) -> list[ChildNode]:
        """Return the sub-sessions as nodes of the graph."""
        nodes = []
        for child in self.children():
            label = f"session {child.id[:8]} {child.status()}: {facts_of(child).collab.title}"
            nodes.append(ChildNode(child.parent.turn if child.parent else 0, label))
        return nodes

    # -- following --------------------------------------------------------------------------

    def messages(self, *, follow: bool = False, after: str | None = None) -> Iterator[Message]:
        """Iterate over the messages.

        Args:
            follow: Wait for more until the session ends. Logs a warning when no worker is running.
            after: Continue after the message with this `entry_id`. None: from the first one.

        Raises:
            InvalidInput: The session has no such message.
            WaitInTask: It follows in a Celery task of a worker, and the session has not ended.
        """
        if follow:
            check_task(self)
        cursor = dialog_cursor(self, after)
        entries = self._stream_entries("dialog", follow, cursor)
        return (read_message(entry, self.id) for entry in entries)

    def events(self, *, follow: bool = False) -> Iterator[MapEvent]:
        """Iterate over the MAP events.

        Args:
            follow: Wait for more until the session ends. Logs a warning when no worker is running.

        Raises:
            WaitInTask: It follows in a Celery task of a worker, and the session has not ended.
        """
        if follow:
            check_task(self)
        return (self._read(MapEvent, text, "events") for _, text in self._stream_entries("events", follow))

    def live(self, *, deltas: bool = True) -> Iterator[SessionUpdate | Delta | ToolEvent | None]:
        """Iterate over all that happens until the session ends. Logs a warning when no worker is running.

        Args:
            deltas: Include the output and the tool calls of turns that are running. Models whose turns start from now
                on stream their output.

        Yields:
            An event with the messages that it brought, a piece of output, or the begin or end of a tool call. None about twice per second while
            nothing happens.
        """
        check_task(self)
        return watch(self._connections.redis, self.id, deltas=deltas, waiting=self._watch().check)

    def stream(self, *, after: str | None = None) -> Iterator[Delta | Message]:
        """Iterate over output piece by piece, and over each message when it is written, until the session ends.

        A piece with offset 0 restarts the output of its turn: it replaces an earlier attempt. A message replaces
        all pieces of its turn. `Drafts` does this bookkeeping. Messages come in the order of the dialog.

        Args:
            after: Continue after the message with this `entry_id`; the output of running turns comes from its beginning. None: from
                the first message.

        Raises:
            InvalidInput: The session has no such message.
        """
        check_task(self)
        cursor = dialog_cursor(self, after)
        return stream_pieces(self._connections.redis, self.id, after=cursor, waiting=self._watch().check)

    def result(
        self, timeout: float | None = None, *, raise_on_failure: bool = False, allow_join: bool = False
    ) -> JobResult:
        """Wait for the end of the session. Logs a warning when no worker is running.

        Warns in a running event loop, which it would block.

        Args:
            timeout: Seconds to wait. None: no limit.
            raise_on_failure: Raise SessionFailed if the session was not completed, as `raise_for_failure` of the
                result does.
            allow_join: Wait also in a Celery task, which then holds a place of the worker's pool: if all places wait,
                no session continues. `symposia.session` waits without holding one.

        Returns:
            How the session ended, and all its messages.

        Raises:
            ResultTimeout: The session has not ended in time; it continues.
            SessionFailed: The session was not completed, and `raise_on_failure` is set.
            WaitInTask: It is called in a Celery task of a worker, and the session has not ended.
            WaitInTurn: It is called in the turn of an agent, which may call a sub-session instead.
        """
        check_blocking_wait(self.id)
        if not allow_join:
            check_task(self)
        look = self._watch().check
        for _ in follow(
            self._connections.redis, self.id, "events", after=END_ONLY, timeout_s=timeout, waiting=look
        ):
            pass
        result = self._result()
        return result.raise_for_failure() if raise_on_failure else result

    # -- reading ----------------------------------------------------------------------------

    def _watch(self) -> WorkerWatch:
        return watch_of(self)

    def _stream_entries(self, stream: Stream, follows: bool, after: str = "0") -> Iterator[Entry]:
        if not follows:
            return self._streams.whole(self.id, stream, after=after)
        look = self._watch().check
        return follow(self._connections.redis, self.id, stream, after=after, waiting=look)

    def _read(self, kind: type[M], text: str, part: str) -> M:
        return read_stored(kind, text, session_id=self.id, part=part)

    def _last_spoken(self) -> tuple[str, int] | None:
        """Return the last speaker, and when their turn began (milliseconds since the epoch)."""
        entries = self._streams.newest_first(self.id, "events")
        return last_spoken(self._read(MapEvent, text, "events") for _, text in entries)

    def _collab(self, state: SessionState) -> Collab:
        events = tuple(
            self._read(Event, text, "journal") for _, text in self._stream_entries("journal", False)
        )
        return self._collab_head(state).model_copy(update={"events": events})

    def _collab_head(self, state: SessionState) -> Collab:
        changed = {"status": state.status, "updated_at": moment_from_ms(state.updated_ms)}
        return self._facts.collab.model_copy(update=changed)

    def _dialog(self, state: SessionState) -> Dialog:
        return self._dialog_head(state).model_copy(update={"messages": tuple(self.messages())})

    def _dialog_head(self, state: SessionState) -> Dialog:
        return Dialog(
            dialog_id=self._facts.spec.dialog_id,
            context_id=self._facts.collab.context_id,
            thread_id=self._facts.spec.thread_id,
            status=state.dialog_status,
            messages=(),
            started_at=moment_from_ms(state.started_ms),
            ended_at=None if state.ended_ms is None else moment_from_ms(state.ended_ms),
        )

    def _heads(self) -> tuple[Collab, Dialog]:
        state = self.state()
        return self._collab_head(state), self._dialog_head(state)

    def _result(self) -> JobResult:
        state = self.state()
        board = self.board() if mode_of(self._facts.collab.mode).has_board else ()
        dialog = self._dialog(state)
        return JobResult(
            collab=self._collab(state),
            dialog=dialog,
            reason=state.reason or "",
            detail=state.detail or "",
            usage=state.usage,
            turns=state.closed,
            rounds=state.rounds,
            output_data=output_of(state, dialog.messages),
            output_type=self._output_type,
            items=items_of(board, last_messages(dialog.messages)) if board else (),
        )


def _below(session_id: str, registered: Sequence[RegisteredChild]) -> Iterator[RegisteredChild]:
    for child in registered:
        if child.parent == session_id:
            yield child
            yield from _below(child.session_id, registered)


def connections_of(job: ReadableJob) -> Connections:
    """Return the connections of a job. Only for this package."""
    return job._connections  # noqa: SLF001 - the only access


def check_task(job: ReadableJob) -> None:
    """Check that a call may wait for a job. Only for this package and the asynchronous client.

    Raises:
        WaitInTask: A Celery task of a worker makes the call, and the session has not ended.
    """
    if blocks_worker() and not job.state().is_final:
        raise WaitInTask(job.id)


def watch_of(job: ReadableJob) -> WorkerWatch:
    """Return the watch of a call that waits for a job. Only for this package and the asynchronous client."""
    to = connections_of(job)
    return to.watch_workers(f"session {job.id}", awaited_agents=lambda: to.store.state(job.id).awaited_agents)


def dialog_cursor(job: ReadableJob, entry_id: str | None) -> str:
    """Return the cursor of a message in the dialog; the beginning for None. Only for this package and the client.

    Raises:
        InvalidInput: The session has no such message.
        SessionNotFound: The session does not exist or has expired.
    """
    if entry_id is None:
        return "0"
    if _ENTRY_ID.fullmatch(str(entry_id)):
        at_ms, counter = entry_key(entry_id)
        before = f"{at_ms}-{counter - 1}" if counter else f"{max(0, at_ms - 1)}-{_MAX_COUNTER}"
        entry = next(iter(job._streams.whole(job.id, "dialog", after=before)), None)  # noqa: SLF001 - as `streams_of`
        if entry is not None and entry[0] == entry_id:
            return entry_id
    raise InvalidInput("after", entry_id, f"must be the `entry_id` of a message of session {job.id}")


def streams_of(job: ReadableJob) -> StreamReader:
    """Return the reader of a job's streams, live or archived. Only for this package."""
    return job._streams  # noqa: SLF001 - the only access


def heads_of(job: ReadableJob) -> tuple[Collab, Dialog]:
    """Return the collab without its events, and the dialog without its messages. Only for this package."""
    return job._heads()  # noqa: SLF001 - the only access


def facts_of(job: ReadableJob) -> SessionFacts:
    """Return the settings of a job's session, as of its last call of `state`. Only for this package."""
    return job._facts  # noqa: SLF001 - the only access

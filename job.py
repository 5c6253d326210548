"""A submitted session, in the hands of whoever submitted it."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Iterator, Mapping
from dataclasses import dataclass
from typing import Any, TypeVar

from pydantic import BaseModel
from redis import Redis

from .models.alignment.ledger import Ledger
from .models.collab import Collab, CollabStatus, Participant
from .models.deltas import Delta
from .models.dialog import Dialog, Message
from .models.errors import InvalidInput, ResultTimeout
from .models.events import MapEvent
from .models.ids import derived_id, moment_from_ms, new_id, timestamp_from_ms
from .models.meta import Event
from .models.options import AgentBinding
from .models.plan import BoardEntry
from .models.spec import SessionSpec
from .models.spending import usage_by_participant
from .models.turn import TurnState, Usage
from .models.waiting import Pending
from .state.connect import aconnect
from .state.follow import END_ONLY, afollow, follow
from .state.index import SessionIndex
from .state.live import Moment, watch
from .state.queued import queued_for_s
from .state.records import SessionState
from .state.store import SessionStore
from .state.stored import read_stored
from .state.streams import Stream, StreamReader
from .state.worker_watch import WorkerWatch
from .tasks.advance import redrive
from .tasks.asked import all_asked
from .tasks.drawing import GraphFormat, draw
from .tasks.graph import TaskGraph
from .tasks.replies import answer, find_asked, plan_on
from .tasks.steering import Helm
from .tasks.task_tree import last_spoken
from .tasks.transcripts import ledger_of, transcript_of
from .tasks.view import SessionFacts, read_facts

M = TypeVar("M", bound=BaseModel)


@dataclass(frozen=True, slots=True)
class Connections:
    """What a job needs to talk to its session."""

    redis: Redis
    #: Opened anew for each asynchronous follower: it belongs to one event loop.
    redis_url: str
    store: SessionStore
    index: SessionIndex
    graph: TaskGraph
    retention_ms: int
    max_message_bytes: int
    #: Raises where somebody may not take part in a session that is run so.
    check_joining: Callable[[SessionSpec, Participant], None]
    #: Makes what warns, in a call that waits for this (such as `session ID`), when no worker is running.
    watch_workers: Callable[[str], WorkerWatch]


@dataclass(frozen=True, slots=True)
class JobResult:
    """How a session ended, and all that was said."""

    collab: Collab
    dialog: Dialog
    #: Why it ended: `satisfied`, `max_rounds`, `failed`, ...
    reason: str
    detail: str
    usage: Usage
    turns: int
    rounds: int

    @property
    def ok(self) -> bool:
        """Completed, not cancelled or aborted."""
        return self.collab.status is CollabStatus.COMPLETED


class CollabJob:
    """One session: look at it, follow it, steer it. Every call reads the session as it is now.

    All methods raise SessionNotFound when the session has expired, RedisUnavailable when Redis is away.
    """

    def __init__(self, facts: SessionFacts, connections: Connections) -> None:
        self._facts = facts
        self._to = connections
        self._streams = StreamReader(connections.redis)

    @property
    def id(self) -> str:
        """The session's id: the collab's."""
        return self._facts.session_id

    @property
    def spec(self) -> SessionSpec:
        """What it is run with: agents, stop conditions, options and policies."""
        self.state()
        return self._facts.spec

    def __repr__(self) -> str:
        return f"CollabJob({self.id!r})"

    # -- looking ----------------------------------------------------------------------------

    def state(self) -> SessionState:
        """Counters and open turns in this instant."""
        state = self._to.store.state(self.id)
        if state.edition != self._facts.edition:  # somebody steered it
            self._facts = read_facts(self.id, self._to.store.documents(self.id), state.opened_ms)
        return state

    def status(self) -> CollabStatus:
        """draft, active, suspended, completed or cancelled."""
        return self.state().status

    def queued_for_s(self) -> float | None:
        """Seconds since something of the session has been queued that no worker has taken; None: nothing is queued.

        It grows while no worker is running, and while all workers are busy.
        """
        return queued_for_s(self.state())

    def turn_state(self) -> TurnState:
        """Whose turn it is (Collab module, section 5.2). Between two turns and at the end: who spoke last.

        Of turns side by side, one that is being spoken comes before one that is only planned.
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
        """The collab with its status, times and the events MAP has no type for, as of now."""
        return self._collab(self.state())

    def dialog(self) -> Dialog:
        """The dialog with all its messages so far."""
        return self._dialog(self.state())

    def ledger(self) -> Ledger:
        """In an alignment session: the tensions, perspectives, scores and rounds so far."""
        return ledger_of(self.state())

    def transcript(self) -> str:
        """An alignment session as a dialogue document. Raises InvalidInput for any other session."""
        state = self.state()
        return transcript_of(self._facts, state, self._collab(state), self._dialog(state))

    def board(self) -> tuple[BoardEntry, ...]:
        """Work items of a swarm, in the order of their ids; empty in other modes."""
        entries = self._to.store.board(self.id)
        return tuple(self._read(BoardEntry, entries[item_id], "board") for item_id in sorted(entries))

    def usage(self) -> dict[str, Usage]:
        """What each participant spent so far, by id; in attempts that came to nothing, too."""
        journal = (self._read(Event, text, "journal") for text in self._texts("journal", False))
        return usage_by_participant(self.events(), journal)

    def graph(self, format: str = "mermaid") -> str:  # noqa: A002 - the word everyone uses for it
        """The session's tasks as a picture: `mermaid`, `dot` or `text`. Raises InvalidInput for others."""
        if format not in list(GraphFormat):
            raise InvalidInput("format", format, f"must be one of {', '.join(GraphFormat)}")
        return draw(self.events(), GraphFormat(format))

    # -- following --------------------------------------------------------------------------

    def messages(self, *, follow: bool = False) -> Iterator[Message]:
        """What was said; with `follow`, also what is being said, until the session ends."""
        return (self._read(Message, text, "dialog") for text in self._texts("dialog", follow))

    def events(self, *, follow: bool = False) -> Iterator[MapEvent]:
        """The MAP events, from MAPSessionStarted on; with `follow`, until MAPSessionCompleted."""
        return (self._read(MapEvent, text, "events") for text in self._texts("events", follow))

    def live(self, *, deltas: bool = True) -> Iterator[Moment | Delta | None]:
        """All that happens, with what is said, until the session ends; None whenever nothing happens.

        With `deltas` also what is being said: models whose turns begin from now on speak word by word.
        """
        return watch(self._to.redis, self.id, deltas=deltas, waiting=self._watch().look)

    def stream(self) -> Iterator[Delta | Message]:
        """What is being said, piece by piece, and each message when it is written, until the session ends.

        A piece with offset 0 begins the words of its turn anew: an earlier attempt is superseded. A
        message takes the place of all pieces of its turn. `Drafts` keeps track of that.
        """
        for moment in self.live():
            if isinstance(moment, Delta):
                yield moment
            elif moment is not None:
                yield from moment.messages

    async def amessages(self, *, follow: bool = False) -> AsyncIterator[Message]:
        """`messages` for asyncio."""
        async for text in self._atexts("dialog", follow):
            yield self._read(Message, text, "dialog")

    async def aevents(self, *, follow: bool = False) -> AsyncIterator[MapEvent]:
        """`events` for asyncio."""
        async for text in self._atexts("events", follow):
            yield self._read(MapEvent, text, "events")

    async def astream(self) -> AsyncIterator[Delta | Message]:
        """`stream` for asyncio; a thread waits for the next piece."""
        pieces = self.stream()
        while (piece := await asyncio.to_thread(next, pieces, None)) is not None:
            yield piece

    def result(self, timeout: float | None = None) -> JobResult:
        """Wait for the end. `timeout` in seconds; raises ResultTimeout, and the session continues.

        Logs a warning when no worker is running; so do `messages`, `events`, `live` and `stream` while they wait.
        """
        look = self._watch().look
        for _ in follow(self._to.redis, self.id, "events", after=END_ONLY, timeout_s=timeout, waiting=look):
            pass
        return self._result()

    async def aresult(self, timeout: float | None = None) -> JobResult:
        """`result` for asyncio."""
        client, look = aconnect(self._to.redis_url), self._watch().alook
        try:
            async with asyncio.timeout(timeout):
                async for _ in afollow(client, self.id, "events", after=END_ONLY, waiting=look):
                    pass
        except TimeoutError:
            raise ResultTimeout(self.id, timeout_s=timeout or 0) from None
        finally:
            await client.aclose()
        return await asyncio.to_thread(self._result)

    # -- steering ---------------------------------------------------------------------------

    def suspend(self) -> None:
        """Pauses; a turn in flight is held and written on resume. Raises IllegalTransition."""
        self._to.store.suspend(self.id)

    def resume(self) -> None:
        """Goes on. Raises IllegalTransition."""
        # Before and after: whoever dies in between leaves a session that the sweep looks at soon.
        self._to.index.sooner(self.id, self._to.index.now_ms())
        state = self._to.store.resume(self.id)
        self._to.index.sooner(self.id, state.now_ms)
        redrive(self._to.graph, self._facts, state)

    def stop(self) -> None:
        """Lets the session complete once the turns in flight have closed. Raises IllegalTransition."""
        state = self._to.store.request_stop(self.id)
        self._to.index.sooner(self.id, state.now_ms)
        if all_asked(self._facts, state):  # nobody's turn will close and ask for the next step
            plan_on(self._to, state)

    def cancel(self, reason: str = "cancelled") -> None:
        """Ends the session now, as cancelled. Raises IllegalTransition when it has ended already."""
        self._to.store.cancel(self.id, reason=reason, retention_ms=self._to.retention_ms)
        self._to.index.settle(self.id)

    def add_participant(
        self,
        participant: str | Participant | Mapping[str, Any],
        agent: str | AgentBinding | Mapping[str, Any] | None = None,
        *,
        by: str = "user",
        key: str | None = None,
    ) -> None:
        """Lets somebody take part from the next round on.

        Args:
            participant: who; an id is enough.
            agent: who sits there; None: the agent of the participant's own name, `human` for a person.
            by: who wants it so; the event says it, here and below.
            key: of your choice: a change asked for again under the same key, because its answer was lost, is
                made once (of the newest 64 changes), here and below.

        Raises:
            InvalidInput: the session could not have been submitted with them; nothing has changed.
            SessionEnded: it is too late.
            NotAMember, ParticipantNotAdmittedError: an agent that is none of the conversation, or task, the session runs in.
        """
        self._helm(by, key).add(participant, agent)

    def remove_participant(self, name: str, *, by: str = "user", key: str | None = None) -> None:
        """Lets somebody take part no longer, from the next round on. Raises InvalidInput, SessionEnded."""
        self._helm(by, key).remove(name)

    def instruct(self, name: str, text: str, *, by: str = "user", key: str | None = None) -> None:
        """Gives a participant's agent other instructions from its next turn on. Raises InvalidInput, SessionEnded."""
        self._helm(by, key).instruct(name, text)

    def post(self, text: str, *, role: str = "user", by: str = "user", key: str | None = None) -> None:
        """Says something as `user` or `system`, behind what is being said now. Raises InvalidInput, SessionEnded."""
        self._helm(by, key).post(text, role=role)

    def _helm(self, by: str, key: str | None) -> Helm:
        request = new_id() if key is None else derived_id(key)
        to = self._to
        return Helm(to.redis, self.id, by, to.max_message_bytes, to.check_joining, request)

    # -- answering --------------------------------------------------------------------------

    def pending(self) -> tuple[Pending, ...]:
        """The questions that are open now, by turn number: turns of people, and what agents ask of them."""
        return tuple(asked.pending() for asked in all_asked(self._facts, self.state()))

    def reply(self, name: str, text: str, *, token: str | None = None, turn: int | None = None) -> None:
        """Answers the open question to `name`.

        Args:
            name: who was asked.
            text: what they say.
            token: answers the question with this reply token, and no other.
            turn: answers the question of this turn. One of the two is needed where more than one is open.

        Raises:
            InvalidInput: the text is blank, too long, or none of the question's choices.
            ReplyRefused: nobody waits for this answer (any more), or it is not clear which question it
                answers; nothing has changed.
        """
        asked = find_asked(self._facts, self.state(), name, turn=turn, token=token)
        answer(self._to, asked, text, name=name, token=token, limit_bytes=self._to.max_message_bytes)

    # -- reading ----------------------------------------------------------------------------

    def _watch(self) -> WorkerWatch:
        return self._to.watch_workers(f"session {self.id}")

    def _texts(self, stream: Stream, follows: bool) -> Iterator[str]:
        if not follows:
            return (text for _, text in self._streams.whole(self.id, stream))
        look = self._watch().look
        return (text for _, text in follow(self._to.redis, self.id, stream, waiting=look))

    def _read(self, kind: type[M], text: str, part: str) -> M:
        return read_stored(kind, text, session_id=self.id, part=part)

    def _last_spoken(self) -> tuple[str, int] | None:
        """Who spoke last, and when their turn began (milliseconds since the epoch)."""
        entries = self._streams.newest_first(self.id, "events")
        return last_spoken(self._read(MapEvent, text, "events") for _, text in entries)

    async def _atexts(self, stream: Stream, follows: bool) -> AsyncIterator[str]:
        if not follows:
            for text in await asyncio.to_thread(lambda: list(self._texts(stream, False))):
                yield text
            return
        client, look = aconnect(self._to.redis_url), self._watch().alook
        try:
            async for _, text in afollow(client, self.id, stream, waiting=look):
                yield text
        finally:
            await client.aclose()

    def _collab(self, state: SessionState) -> Collab:
        events = tuple(self._read(Event, text, "journal") for text in self._texts("journal", False))
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

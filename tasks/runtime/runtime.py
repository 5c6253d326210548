"""Services of a worker process for its turns: one of each, shared by all its threads.

The fault hook is called at each boundary between the phases of a turn, where the death of a worker has
different effects. In production it does nothing.
"""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass, field
from enum import StrEnum
from functools import lru_cache
from typing import Protocol

from celery import Celery

from ...agents.execution.runner import AgentRunner
from ...agents.registry.registry import Registry
from ...models.attachments import DEFAULT_BYTES
from ...models.sessions.agent_queues import AgentQueues, ServedQueues, parse_need
from ...models.sessions.limits import DailyLimits
from ...models.sessions.submission import Submission
from ...models.sessions.subsession_limits import MAX_DEPTH, MAX_SUBSESSIONS
from ...state.sessions.index import QueueProgress, SessionIndex
from ...state.sessions.records import SessionState
from ...state.sessions.store import SessionStore
from ..ports import (
    EndMessages,
    HeldSessions,
    MemoryPort,
    MetricSink,
    NoEndMessages,
    NoHeldSessions,
    NoMetrics,
    NoSessionEvents,
    RecollectionPort,
    SessionEvents,
    Tracing,
)
from ..views.session_views import SessionFacts, read_facts
from .archiving import Archiver
from .dialog_tails import DialogTails
from .graph import TaskGraph
from .history import HistoryReader
from .leases import LeaseRenewer
from .next_turn import NextTurns
from .queues import queue_name
from .turn_services import TurnServicesFactory


class Boundary(StrEnum):
    """Boundaries between the phases of a turn, in their order."""

    #: The message has arrived; no command was sent to Redis.
    BEFORE_BEGIN = "before-begin"
    #: The turn is granted; the agent has not started.
    AFTER_BEGIN = "after-begin"
    #: The agent is running, and its lease is being renewed.
    SPEAKING = "speaking"
    #: The agent has finished; nothing is written.
    BEFORE_COMMIT = "before-commit"
    #: The turn is written, together with the next step if it was planned; no message was sent.
    AFTER_COMMIT = "after-commit"
    #: The next messages are in the queue; the message of this turn is not acknowledged.
    BEFORE_ACK = "before-ack"
    #: A turn is parked for a sub-session, which is not open.
    AFTER_PARK = "after-park"
    #: The sub-session is open; its parent has not recorded it.
    AFTER_OPEN = "after-open"
    #: The sub-session has ended; the turn of its parent, which is named, has no answer.
    BEFORE_ANSWER = "before-answer"


#: Callback with boundary, session id and turn number, called in the thread that runs the turn.
FaultHook = Callable[[Boundary, str, int], None]


def no_fault_hook(_boundary: Boundary, _session_id: str, _number: int) -> None:
    """Do nothing: the hook of production."""


@dataclass(frozen=True, slots=True)
class WorkerLimits:
    """Limits of turns in a worker."""

    lease_ms: int
    #: Milliseconds after which a dispatched turn that has not begun is dispatched again.
    grace_ms: int
    #: Seconds that a turn may take if its policy has no deadline.
    turn_timeout_s: float
    #: Milliseconds for which the live keys are kept after the end.
    retention_ms: int
    max_message_bytes: int
    #: Maximum bytes of an attachment.
    max_attachment_bytes: int = DEFAULT_BYTES
    #: Daily limits of each tenant.
    tenant: DailyLimits = DailyLimits()  # noqa: RUF009 - frozen
    #: Milliseconds without progress after which an active session counts as stuck.
    stuck_after_ms: int = 300_000
    #: Maximum number of sessions above a sub-session, and of sub-sessions of one tree.
    max_depth: int = MAX_DEPTH
    max_subsessions: int = MAX_SUBSESSIONS


#: Seconds for which an id surely belongs to the same session: the id may be used again only after its keys
#: have expired, which takes at least a minute after the end (`retention_s`).
FACTS_TTL_S = 30.0


class FactsCache:
    """Cache of the collab and spec of recently read sessions, which change only with an edition.

    `clock` returns monotonic seconds.
    """

    def __init__(
        self, store: SessionStore, *, size: int = 2_048, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._size = size
        self._clock = clock
        #: Facts by session id, with the monotonic time at which the session was last seen alive.
        self._known: OrderedDict[str, tuple[SessionFacts, float]] = OrderedDict()
        self._lock = threading.Lock()

    def get_for_state(self, session_id: str, state: SessionState) -> SessionFacts:
        """Return the facts that belong to a state that was just read.

        Raises:
            SessionNotFound: There is no such session.
        """
        return self.get(session_id, state.opened_ms, edition=state.edition)

    def with_participant(self, session_id: str, participant: str) -> SessionFacts | None:
        """Return facts whose roster has a participant; None: not even those that Redis has now.

        Raises:
            SessionNotFound: There is no such session.
        """
        facts = self.get(session_id)
        if participant not in facts.roster:  # added after this process read the session
            facts = self.get_for_state(session_id, self._store.state(session_id))
        return facts if participant in facts.roster else None

    def get(
        self, session_id: str, opened_ms: int | None = None, *, edition: int | None = None
    ) -> SessionFacts:
        """Return the facts of a session.

        An id may be used again after its keys have expired.

        Args:
            session_id: Id of the session.
            opened_ms: Time at which the session was opened; the session was just read and has not ended.
            edition: Minimum edition of the facts.

        Raises:
            SessionNotFound: The session does not exist or has expired.
        """
        now = self._clock()
        with self._lock:
            facts, seen_alive = self._known.get(session_id, (None, now))
            if facts is not None and opened_ms == facts.opened_ms and edition in (None, facts.edition):
                self._keep(facts, now)
                return facts
            if facts is not None and opened_ms is None and now - seen_alive < FACTS_TTL_S:
                return facts
        is_over = False
        if opened_ms is None:
            state = self._store.state(session_id)
            opened_ms, is_over = state.opened_ms, state.is_final
        facts = read_facts(session_id, self._store.documents(session_id), opened_ms)
        if not is_over:
            with self._lock:
                self._keep(facts, now)
        return facts

    def _keep(self, facts: SessionFacts, now: float) -> None:
        self._known[facts.session_id] = facts, now
        self._known.move_to_end(facts.session_id)
        while len(self._known) > self._size:
            self._known.popitem(last=False)


class SessionOpening(Protocol):
    """Opening of sessions."""

    def open(
        self, submission: Submission, *, known_agents: frozenset[str], submitted_in: str | None
    ) -> SessionFacts | None:
        """Open a session, as `SessionOpener` does."""
        ...


class SessionTree(Protocol):
    """What follows from a session for those above and below it. Every method may be called again."""

    def settle_end(self, runtime: Runtime, facts: SessionFacts, state: SessionState) -> None:
        """End the sub-sessions and batches of a session that has ended, and answer its parent."""
        ...

    def settle_dropped(self, runtime: Runtime, state: SessionState) -> None:
        """End the sub-sessions and batches of dropped turns."""
        ...


def ignore_ended(_facts: SessionFacts) -> None:
    """Do nothing at the end of a session."""


#: Seconds up to which an agent counts as fast. Sending a turn as a message takes a few milliseconds.
FAST_S = 0.01


class AgentTimes:
    """The two newest durations of each agent, in seconds. Two threads may lose a duration, which does no harm."""

    def __init__(self) -> None:
        self._newest: dict[str, tuple[float, float]] = {}

    def record(self, agent: str, seconds: float) -> None:
        """Record how long an agent took for a turn."""
        self._newest[agent] = (seconds, self._newest.get(agent, (seconds, seconds))[0])

    def is_fast(self, agent: str) -> bool:
        """Return whether an agent probably answers at once; False: it is slow, or has not run here.

        One of two turns may have waited for the processor.
        """
        return min(self._newest.get(agent, (FAST_S, FAST_S))) < FAST_S


@dataclass(frozen=True, slots=True)
class Stores:
    """The live sessions in Redis."""

    store: SessionStore
    index: SessionIndex
    #: Progress of the workers in the queue.
    queue_progress: QueueProgress


@dataclass(frozen=True, slots=True)
class Agents:
    """The agents of a process, and what runs them."""

    registry: Registry
    runner: AgentRunner
    leases: LeaseRenewer
    services: TurnServicesFactory
    times: AgentTimes = field(default_factory=AgentTimes)
    #: Returns the queues that this process serves.
    served: Callable[[], ServedQueues] = ServedQueues

    def queues(self) -> AgentQueues:
        """Return the queues that this process serves, and those of its agents."""
        return AgentQueues(self.served(), self.registry.queues())

    def can_run(self, need: str) -> bool:
        """Return whether this process runs turns with that need (`format_need`)."""
        return can_run_here(self.registry, self.served(), need)


def served_queues(app: Celery | None) -> ServedQueues:
    """Return the queues that a process of an app serves: all turns, unless its worker consumes only some queues."""
    if app is None:
        return ServedQueues()
    return _served_of(tuple(app.amqp.queues.consume_from), queue_name(app))


@lru_cache(maxsize=8)  # asked for at each turn
def _served_of(consumed: tuple[str, ...], common_queue: str) -> ServedQueues:
    return ServedQueues.of_consumed(consumed, common_queue)


def can_run_here(registry: Registry, served: ServedQueues, need: str) -> bool:
    """Return whether a process with these agents and queues runs turns with that need."""
    agent, queue = parse_need(need)
    return served.serves(queue or registry.queue_of(agent)) and registry.can_run(agent)


@dataclass(frozen=True, slots=True)
class Sessions:
    """What belongs to a session besides its state."""

    facts: FactsCache
    opener: SessionOpening
    tree: SessionTree
    #: Messages of earlier sessions.
    history: HistoryReader
    #: The newest messages of the sessions that this process works on.
    tails: DialogTails = field(default_factory=DialogTails)
    #: Turns that threads were granted before their messages.
    next_turns: NextTurns = field(default_factory=NextTurns)


@dataclass(frozen=True, slots=True)
class Ports:
    """Services that features and the worker provide."""

    memory: MemoryPort
    recollections: RecollectionPort
    metrics: MetricSink = field(default_factory=NoMetrics)
    #: Report of the sessions that this process works on.
    held: HeldSessions = field(default_factory=NoHeldSessions)
    #: None: there is no archive.
    archiver: Archiver | None = None
    #: None: nothing is traced.
    tracing: Tracing | None = None
    #: Messages of ended sessions with `on_end`; sent before a session leaves the due index.
    end_messages: EndMessages = field(default_factory=NoEndMessages)
    #: Receiver of ends and questions.
    events: SessionEvents = field(default_factory=NoSessionEvents)
    #: Callback for each session that a plan has ended, called at most once; only a hint.
    on_session_ended: Callable[[SessionFacts], None] = ignore_ended


@dataclass(frozen=True, slots=True)
class Runtime:
    """All services that a turn needs."""

    stores: Stores
    agents: Agents
    sessions: Sessions
    graph: TaskGraph
    ports: Ports
    limits: WorkerLimits
    #: Callback at each boundary of a turn.
    fault_hook: FaultHook = no_fault_hook

    @property
    def store(self) -> SessionStore:
        """Return the session store."""
        return self.stores.store

    @property
    def index(self) -> SessionIndex:
        """Return the due index of the sessions."""
        return self.stores.index

    @property
    def retention_ms(self) -> int:
        """Return for how long the keys of an ended session are kept."""
        return self.limits.retention_ms


_RUNTIME = "symposia_runtime"


def install_runtime(app: Celery, provider: Callable[[], Runtime]) -> None:
    """Set the runtime provider of an app's Celery tasks; it is called for each piece of work."""
    setattr(app, _RUNTIME, provider)


def runtime_of(app: Celery) -> Runtime:
    """Return the runtime of this process, with the agents for the work that begins now."""
    provider: Callable[[], Runtime] = getattr(app, _RUNTIME)
    return provider()


_HELD_SESSIONS = "symposia_held_sessions"


def install_held_sessions(app: Celery, provider: Callable[[], HeldSessions]) -> None:
    """Set the provider of the report for the tasks of an app; each process has its own report."""
    setattr(app, _HELD_SESSIONS, provider)


def held_sessions_of(app: Celery | None) -> HeldSessions:
    """Return the report of this process."""
    provider: Callable[[], HeldSessions] = getattr(app, _HELD_SESSIONS, NoHeldSessions)
    return provider()

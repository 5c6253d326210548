"""What a worker process holds for its turns: one of each, shared by all its threads."""

from __future__ import annotations

import threading
import time
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from celery import Celery

from ..agents.registry import Registry
from ..agents.runner import AgentRunner
from ..models.limits import DailyLimits
from ..state.index import SessionIndex
from ..state.records import SessionState
from ..state.store import SessionStore
from ..state.taken import TakenMark
from .archiving import Archiver
from .boundaries import Crossing, unwatched
from .desks import Desks
from .graph import TaskGraph
from .leases import LeaseKeeper
from .memory import TurnMemory
from .view import SessionFacts, read_facts


@dataclass(frozen=True, slots=True)
class TurnLimits:
    """The worker's own bounds on turns; times in the unit the name says."""

    lease_ms: int
    #: How long a dispatched turn may go without beginning before it is dispatched again.
    grace_ms: int
    #: Deadline of a turn whose policy names none.
    turn_timeout_s: float
    #: How long the live keys stay after the end.
    retention_ms: int
    max_message_bytes: int
    #: What each tenant may spend a day.
    tenant: DailyLimits = DailyLimits()  # noqa: RUF009 - frozen


#: Seconds for which an id surely means the session that was alive under it: after its end the keys
#: stay for a minute at least (`retention_s`), and only then may the id be used again.
SURE_S = 30.0


class FactsCache:
    """Collab and spec of the sessions this process has seen lately: they change only with an edition.

    `clock` tells seconds that only rise.
    """

    def __init__(
        self, store: SessionStore, *, size: int = 2_048, clock: Callable[[], float] = time.monotonic
    ) -> None:
        self._store = store
        self._size = size
        self._clock = clock
        #: By session id, with the time at which the session was last known to be alive.
        self._known: OrderedDict[str, tuple[SessionFacts, float]] = OrderedDict()
        self._lock = threading.Lock()

    def of(self, session_id: str, state: SessionState) -> SessionFacts:
        """Facts of the session whose state was just read, as they are in it. Raises SessionNotFound."""
        return self.get(session_id, state.opened_ms, edition=state.edition)

    def get(
        self, session_id: str, opened_ms: int | None = None, *, edition: int | None = None
    ) -> SessionFacts:
        """Facts of a session; with `opened_ms`, which was just read and is not over, of that one. An id
        may be used again once its keys have expired. With `edition`, those of that one, or newer.

        Raises:
            SessionNotFound: there is no such session (any more).
        """
        now = self._clock()
        with self._lock:
            facts, seen_alive = self._known.get(session_id, (None, now))
            if facts is not None and opened_ms == facts.opened_ms and edition in (None, facts.edition):
                self._keep(facts, now)
                return facts
            if facts is not None and opened_ms is None and now - seen_alive < SURE_S:
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


def nobody_waits(_facts: SessionFacts) -> None:
    """For sessions whose end concerns nobody but who follows them."""


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything a turn needs."""

    store: SessionStore
    index: SessionIndex
    #: How far the workers have come in the queue.
    taken: TakenMark
    facts: FactsCache
    graph: TaskGraph
    registry: Registry
    runner: AgentRunner
    leases: LeaseKeeper
    desks: Desks
    limits: TurnLimits
    memory: TurnMemory
    #: None: no archive is kept.
    archiver: Archiver | None = None
    #: Told how far each turn has come.
    crossing: Crossing = unwatched
    #: Told of each session that a plan has ended, once at most: a hint.
    ended: Callable[[SessionFacts], None] = nobody_waits


_ATTRIBUTE = "symposia_runtime"


def install(app: Celery, provider: Callable[[], Runtime]) -> None:
    """Tells an app's tasks where their runtime comes from (called once per process, lazily)."""
    setattr(app, _ATTRIBUTE, provider)


def runtime_of(app: Celery) -> Runtime:
    """The runtime of this process."""
    provider: Callable[[], Runtime] = getattr(app, _ATTRIBUTE)
    return provider()

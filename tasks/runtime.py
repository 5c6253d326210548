"""What a worker process holds for its turns: one of each, shared by all its threads."""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable
from dataclasses import dataclass

from celery import Celery

from ..agents.registry import Registry
from ..agents.runner import AgentRunner
from ..models.collab import Collab
from ..models.spec import SessionSpec
from ..state.index import SessionIndex
from ..state.store import SessionStore
from .boundaries import Crossing, unwatched
from .graph import TaskGraph
from .leases import LeaseKeeper
from .view import SessionFacts


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


class FactsCache:
    """Collab and spec of the sessions this process has seen lately: they never change."""

    def __init__(self, store: SessionStore, *, size: int = 2_048) -> None:
        self._store = store
        self._size = size
        self._known: OrderedDict[str, SessionFacts] = OrderedDict()
        self._lock = threading.Lock()

    def get(self, session_id: str, opened_ms: int | None = None) -> SessionFacts:
        """Facts of a session; with `opened_ms`, of the one opened then (an id may be used again after
        its keys expired). Raises SessionNotFound.
        """
        with self._lock:
            facts = self._known.get(session_id)
            if facts is not None and opened_ms in (None, facts.opened_ms):
                self._known.move_to_end(session_id)
                return facts
        opened_ms = opened_ms or self._store.state(session_id).opened_ms
        collab, spec = self._store.documents(session_id)
        facts = SessionFacts(
            Collab.model_validate_json(collab), SessionSpec.model_validate_json(spec), opened_ms
        )
        with self._lock:
            self._known[session_id] = facts
            while len(self._known) > self._size:
                self._known.popitem(last=False)
        return facts


@dataclass(frozen=True, slots=True)
class Runtime:
    """Everything a turn needs."""

    store: SessionStore
    index: SessionIndex
    facts: FactsCache
    graph: TaskGraph
    registry: Registry
    runner: AgentRunner
    leases: LeaseKeeper
    limits: TurnLimits
    #: Told how far each turn has come.
    crossing: Crossing = unwatched


_ATTRIBUTE = "symposia_runtime"


def install(app: Celery, provider: Callable[[], Runtime]) -> None:
    """Tells an app's tasks where their runtime comes from (called once per process, lazily)."""
    setattr(app, _ATTRIBUTE, provider)


def runtime_of(app: Celery) -> Runtime:
    """The runtime of this process."""
    provider: Callable[[], Runtime] = getattr(app, _ATTRIBUTE)
    return provider()

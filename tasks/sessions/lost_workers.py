"""Takeover of the turns of lost worker processes, before the leases of the turns expire.

A lost process is one that was seen to end, or whose heartbeat has stopped; after a shutdown it works on no session. Its sessions are checked like those
whose messages were lost: messages that it had taken are sent again, too. A process that counts as lost and runs
after all cannot write: its token is not accepted any more.
"""

from __future__ import annotations

import logging
import time

from ...models.errors import RedisUnavailable, SessionNotFound
from ...models.metrics import LOST_WORKERS
from ...state.log_context import log_context
from ...state.presence import WorkerPresence
from ...state.worker_leases import WorkerLeases
from ..runtime.graph import broker_error
from ..runtime.runtime import Runtime
from .sweep import QueueView, sweep_session

log = logging.getLogger(__name__)


def take_over_lost_workers(runtime: Runtime) -> None:
    """Take over the turns of all lost processes.

    Raises:
        RedisUnavailable, OperationalError: The processes that are left are claimed again after some seconds.
    """
    leases = WorkerLeases(runtime.store.client)
    for process in leases.claim_lost():
        # First: from now on it counts as no worker, and no turn is sent to it.
        WorkerPresence(runtime.store.client).remove_lost(process)
        if runtime.graph.routes is not None:
            runtime.graph.routes.forget()
        session_ids = leases.sessions_of(process)
        if session_ids:
            log.warning("worker %s was lost; taking over its turns in %d sessions", process, len(session_ids))
        for session_id in session_ids:
            with log_context(session_id):
                _take_over_session(runtime, session_id, process)
        leases.remove(process)
        runtime.metrics.count(LOST_WORKERS, amount=int(bool(session_ids)))


def _take_over_session(runtime: Runtime, session_id: str, process: str) -> None:
    try:
        for record in runtime.store.state(session_id).open_turns():
            if record.process == process and runtime.store.release_lost(session_id, record, process):
                log.info("turn %s of session %s is free again", record.number, session_id)
        # Workers that run have begun what they took; only a turn that waits in the queue is sent twice.
        sweep_session(runtime, session_id, QueueView(runtime, None, time.monotonic(), grace_ms=1))
    except (RedisUnavailable, broker_error()):
        raise
    except SessionNotFound:
        return
    except Exception:  # one session that cannot be read must not block the others
        log.exception("taking over session %s failed; its turns wait for the end of their leases", session_id)

"""The sweep: what the queue lost, found again.

It runs in every worker, claims sessions whose time has come and re-enqueues what they are
owed. It never executes a turn, so a slow agent cannot stop it, and two sweeps at once do
no harm. This, not the broker, is why every session ends.
"""

from __future__ import annotations

import logging

from ..models.errors import RedisUnavailable, SessionNotFound, SymposiaError
from .advance import send
from .graph import BrokerAway
from .runtime import Runtime

log = logging.getLogger(__name__)

#: Sessions claimed at once.
BATCH = 100


def sweep(runtime: Runtime) -> int:
    """Looks at every session that is due now. Answers how many turns and steps were re-enqueued.

    Raises RedisUnavailable, BrokerAway: what was not looked at is claimed again after the grace time.
    """
    sent = 0
    while True:
        claimed = runtime.index.claim(limit=BATCH, hold_ms=runtime.limits.grace_ms)
        for session_id in claimed:
            try:
                sent += sweep_session(runtime, session_id)
            except (RedisUnavailable, BrokerAway):
                raise
            except SymposiaError as error:
                log.error("session %s could not be swept: %s", session_id, error)
            except Exception:  # one session that cannot be read must not keep the others waiting
                log.exception("session %s could not be swept", session_id)
        if len(claimed) < BATCH:
            return sent


def sweep_session(runtime: Runtime, session_id: str) -> int:
    """Looks at one session. Answers how many turns and steps were re-enqueued."""
    answer = runtime.store.sweep(session_id, grace_ms=runtime.limits.grace_ms)
    if answer.word == "ended":
        runtime.index.settle(session_id)
        return 0
    if answer.state is None or answer.due_ms is None:
        runtime.index.drop_orphan(session_id, runtime.index)
        return 0
    # The next look is set before anything is sent: dying in between costs one grace, not the session.
    runtime.index.look_at(session_id, answer.due_ms)
    try:
        facts = runtime.facts.of(session_id, answer.state)
    except SessionNotFound:
        return 0
    if answer.numbers:
        log.info("session %s: turns %s are dispatched again", session_id, list(answer.numbers))
        send(runtime.graph, facts, answer.state, answer.numbers)
    if answer.advance:
        log.info("session %s: its next step is asked for again", session_id)
        runtime.graph.send_advance(session_id)
    return len(answer.numbers) + answer.advance

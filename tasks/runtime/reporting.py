"""Reports of events to webhooks, whose keys may be at another server of a cluster than those of the session.

If that server does not answer, the work goes on, and the event is left to the sweep.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from ...models.errors import RedisUnavailable

if TYPE_CHECKING:
    from ...state.sessions.records import SessionState
    from ..views.session_views import SessionFacts
    from .runtime import Runtime

log = logging.getLogger(__name__)


def report_question(runtime: Runtime, facts: SessionFacts, state: SessionState, number: int) -> bool:
    """Report the question of a parked turn; False: it is left to the sweep."""
    try:
        runtime.ports.events.asked(facts, state, number)
    except RedisUnavailable as error:
        log.warning(
            "question of session %s is not queued for webhooks, will retry: %s", facts.session_id, error
        )
        return False
    return True


def finish_session(runtime: Runtime, facts: SessionFacts, state: SessionState) -> None:
    """Report the end of a session, and remove it from the index, where it stays if the event is left to the sweep."""
    try:
        runtime.ports.events.ended(facts, state)
    except RedisUnavailable as error:
        log.warning("end of session %s is not queued for webhooks, will retry: %s", facts.session_id, error)
        runtime.index.set_due_by(facts.session_id, state.now_ms + runtime.limits.grace_ms)
        return
    if runtime.index.mark_ended(facts.session_id) and runtime.ports.tracing is not None:
        runtime.ports.tracing.end_session(facts, state)

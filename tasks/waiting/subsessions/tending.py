"""Due work of a turn that waits for a sub-session: it is opened, and checked in case its answer was lost."""

from __future__ import annotations

import logging

from ....models.errors import ArchiveUnavailable, SessionNotFound
from ....models.turns.turn import Usage
from ....models.turns.waiting import ChildSession
from ...runtime.runtime import Runtime
from ...turns.results import TurnEnd
from ..parked_turn import OpenQuestion
from ..parked_work import record_work
from .answers import ChildResult, give_answer, read_archived_result, read_result
from .opening import FIRST_CHECK_MS, LAST_CHECK_MS, open_child

log = logging.getLogger(__name__)


def tend_child(runtime: Runtime, asked: OpenQuestion, child: ChildSession) -> TurnEnd:
    """Open the sub-session of a parked turn, or take its answer if it has ended."""
    if not child.is_open:
        return open_child(runtime, asked, child)
    try:
        state = runtime.store.state(child.session_id)
    except SessionNotFound:
        return _lost(runtime, asked, child)
    if state.is_final:
        return give_answer(runtime, asked, read_result(runtime, state))
    return _check_later(runtime, asked, child)


def _check_later(runtime: Runtime, asked: OpenQuestion, child: ChildSession) -> TurnEnd:
    delay_ms = min(FIRST_CHECK_MS * 2 ** min(child.checks + 1, 20), LAST_CHECK_MS)
    checked = child.model_copy(update={"checks": child.checks + 1, "due_ms": asked.state.now_ms + delay_ms})
    waiting = asked.waiting.model_copy(update={"child": checked})
    word = record_work(runtime, asked, waiting, event="", about={})
    return TurnEnd(word, f"parked: waiting for session {child.session_id[:8]}")


#: Checks for which a missing sub-session may still be restored, after Redis has lost it.
_CHECKS_UNTIL_LOST = 8


def _lost(runtime: Runtime, asked: OpenQuestion, child: ChildSession) -> TurnEnd:
    """Take the result of a sub-session that Redis has lost from the archive; otherwise wait, then answer with an error."""
    archived = None
    if runtime.archiver is not None:
        try:
            archived = read_archived_result(runtime.archiver.target, child.session_id)
        except ArchiveUnavailable as error:
            log.warning("reading sub-session %s from the archive failed: %s", child.session_id, error)
    if archived is not None:
        return give_answer(runtime, asked, archived)
    if child.checks < _CHECKS_UNTIL_LOST:
        return _check_later(runtime, asked, child)
    line = f"sub-session {child.session_id} not found (lost or expired)"
    return give_answer(runtime, asked, ChildResult(child.session_id, Usage(), error=line))

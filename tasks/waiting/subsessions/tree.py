"""Changes passed down to sub-sessions: the end of a parent, suspension, and resumption.

The process that changes the parent changes its sub-sessions, too. If it dies in between, the sweep of each sub-session
compares it with its parent, within a minute.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Iterator
from typing import Protocol

from ....models.errors import IllegalTransition, NewerFormat, SessionNotFound
from ....models.protocol.collab import CollabStatus
from ....state.sessions.family import FamilyStore, ParentLink
from ....state.sessions.records import Grant, SessionState
from ....state.sessions.turn_records import TurnRecord
from ...planning.dispatch import resend_all
from ...runtime.graph import report_dropped
from ...views.session_views import read_facts
from ..replies import ReplyContext

log = logging.getLogger(__name__)

#: Actor of the changes that a parent causes.
PARENT = "parent session"
#: Reason of the end of a sub-session whose parent no longer needs it.
PARENT_ENDED = "parent_ended"


class TreeContext(ReplyContext, Protocol):
    """Services that a worker and a client both need for the sessions below another."""

    @property
    def retention_ms(self) -> int:
        """Return for how long the keys of an ended session are kept."""
        ...


def cancel_children(context: TreeContext, state: SessionState, *, detail: str = "") -> int:
    """Cancel the sub-sessions of all dropped turns of a session, with those below; return their number."""
    dropped = [record for record in _waiting_turns(state) if record.status == "dropped"]
    return sum(
        cancel_child(context, state.session_id, record.number, str(record.child), detail=detail)
        for record in dropped
    )


def _waiting_turns(state: SessionState) -> Iterator[TurnRecord]:
    """Yield the turns of a session that wait for a sub-session, or waited for one when they were dropped."""
    return (record for record in state.records.all() if record.child is not None)


def cancel_child(context: TreeContext, parent: str, turn: int, child_id: str, *, detail: str = "") -> bool:
    """Cancel a sub-session with all below it, and book its usage in its parent; return False if it had ended."""
    try:
        state = context.store.cancel(
            child_id,
            reason=PARENT_ENDED,
            detail=detail,
            retention_ms=context.retention_ms,
            by=PARENT,
        )
    except SessionNotFound:
        return False
    except NewerFormat as error:
        log.warning("%s; leaving it to newer workers", error)
        return False
    except IllegalTransition:
        _book_usage(context, parent, turn, context.store.state(child_id))
        return False
    context.index.mark_cancelled(child_id)
    report_dropped(context.graph, state, state.records)
    if cancel_children(context, state, detail=detail):
        state = context.store.state(child_id)
    _book_usage(context, parent, turn, state)
    log.info("session %s cancelled: its parent %s no longer needs it", child_id, parent)
    return True


def _book_usage(context: TreeContext, parent: str, turn: int, state: SessionState) -> None:
    """Book the usage of a cancelled sub-session in the turn of its parent; a repeated call books nothing."""
    account = Grant(turn, "", state.session_id, 0, 0, 0, 0, None, ())
    context.store.book_usage(parent, account, {state.session_id: state.usage})


def suspend_children(context: TreeContext, state: SessionState) -> None:
    """Suspend the active sub-sessions of a suspended session, with those below."""
    for child_id in _open_children(state):
        suspend_child(context, state.session_id, child_id)


def resume_children(context: TreeContext, state: SessionState) -> None:
    """Resume the sub-sessions that were suspended with their parent, with those below."""
    for child_id in _open_children(state):
        resume_child(context, state.session_id, child_id)


def _open_children(state: SessionState) -> Iterable[str]:
    return [str(record.child) for record in _waiting_turns(state) if record.is_open]


def suspend_child(context: TreeContext, parent: str, child_id: str) -> None:
    """Suspend a sub-session with those below, unless it is not active."""
    try:
        state = context.store.suspend(child_id, by=PARENT, request=_request(parent))
    except (SessionNotFound, IllegalTransition, NewerFormat):
        return
    context.index.live.set_suspended(child_id, _mode_of(context, state), suspended=True)
    context.index.archive_soon(child_id)
    suspend_children(context, state)


def resume_child(context: TreeContext, parent: str, child_id: str) -> None:
    """Resume a sub-session with those below, unless someone suspended it by itself."""
    if FamilyStore(context.store.client).links(child_id).moved_by != _request(parent):
        return
    context.index.set_due_by(child_id, context.index.now_ms())
    try:
        state = context.store.resume(child_id, by=PARENT)
    except (SessionNotFound, IllegalTransition, NewerFormat):
        return
    facts = read_facts(child_id, context.store.documents(child_id), state.opened_ms)
    context.index.live.set_suspended(child_id, facts.collab.mode, suspended=False)
    context.index.archive_soon(child_id)
    resend_all(context.graph, facts, state)
    resume_children(context, state)


def _request(parent: str) -> str:
    """Return the name of the suspension of a sub-session with its parent."""
    return f"{parent}:suspended"


def _mode_of(context: TreeContext, state: SessionState) -> str:
    documents = context.store.documents(state.session_id)
    return read_facts(state.session_id, documents, state.opened_ms).collab.mode


def follow_parent(context: TreeContext, state: SessionState, link: ParentLink) -> None:
    """Give an unfinished sub-session the status that follows from its parent.

    A parent that Redis does not have changes nothing, nor does a turn that is not parked: both may be restored, and
    older than the sub-session.
    """
    parent = link.session_id
    try:
        above = context.store.state(parent)
    except SessionNotFound:
        return
    if _is_unneeded(above, link.turn, state.session_id):
        cancel_child(context, parent, link.turn, state.session_id, detail="its turn no longer waits for it")
    elif above.status is CollabStatus.SUSPENDED and state.status is CollabStatus.ACTIVE:
        suspend_child(context, parent, state.session_id)
    elif above.status is CollabStatus.ACTIVE and state.status is CollabStatus.SUSPENDED:
        resume_child(context, parent, state.session_id)


def _is_unneeded(above: SessionState, turn: int, child_id: str) -> bool:
    record = above.records.get(turn)
    if above.is_final:
        return True
    if record is None:
        return turn < above.next_number  # closed, and consumed by a plan
    return not record.is_open or (record.child is not None and record.child != child_id)

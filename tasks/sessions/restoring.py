"""Restoring of sessions that Redis lost, from their archived state."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from redis import Redis

from ...models.errors import NotRestorable
from ...models.protocol.collab import CollabStatus
from ...models.sessions.archived import ArchiveProgress
from ...models.text.ids import new_id
from ...state.sessions.index import SessionIndex
from ...state.sessions.records import SessionState
from ...state.sessions.restoring import Restorer
from ...state.sessions.store import SessionStore
from ...state.turns.inbox import Inbox
from ..planning.advance import resend_all
from ..runtime.graph import TaskGraph
from ..views.view import SessionFacts, read_facts
from ..waiting.parked_turn import read_all_questions

if TYPE_CHECKING:
    from ...archive.archive import Archive

_STREAMS: tuple[Literal["dialog", "events", "journal"], ...] = ("dialog", "events", "journal")


def restore(archive: Archive, client: Redis, graph: TaskGraph, session_id: str) -> None:
    """Make the newest session under this id live again in its last archived state, and dispatch its due work.

    A turn that was running is given out again; a worker that ran it before the loss is refused.

    Raises:
        SessionNotFound: the archive does not have it.
        NotRestorable: it has ended, is live, or is being archived at this moment.
        ArchiveUnavailable, RedisUnavailable: restoring may be repeated.
    """
    archive.prepare()
    reader, restorer = archive.reader, Restorer(client)
    found, snapshot = reader.session(session_id), reader.snapshot(session_id)
    status = found.fields["status"]
    if status in (CollabStatus.COMPLETED, CollabStatus.CANCELLED):
        raise NotRestorable(
            session_id,
            why=f"it is {status}; read it in the archive with `symposia show` and `symposia export`",
        )
    before = _progress(archive, session_id)
    for stream in _STREAMS:
        if not restorer.refill(session_id, stream, reader.entries(session_id, stream)):
            raise _already_live(client, session_id)
    if before != _progress(archive, session_id):
        raise NotRestorable(session_id, why="it is being archived; try again")
    # As when opening: a crash after this line leaves an index entry without a session, after the next one a session that is swept.
    SessionIndex(client).add_session(session_id, look_in_ms=0, archived=True)
    state = restorer.restore(session_id, found.documents, snapshot, request=new_id()).state
    if state is None:
        raise _already_live(client, session_id)
    facts = _index_session(client, session_id, state)
    if state.status is CollabStatus.ACTIVE:
        resend_all(graph, facts, state)


def _index_session(client: Redis, session_id: str, state: SessionState) -> SessionFacts:
    """Add a live session and its open questions to the indexes of people and sweeps."""
    index, store, inbox = SessionIndex(client), SessionStore(client), Inbox(client)
    # Again: restoring may have taken longer than an index entry without a session is kept.
    index.add_session(session_id, look_in_ms=0, archived=True)
    index.list_session(session_id, state.opened_ms)
    facts = read_facts(session_id, store.documents(session_id), state.opened_ms)
    for asked in read_all_questions(facts, state):
        inbox.add(asked.inbox_entries(), at_ms=asked.parking.parked_ms)
    return facts


def _already_live(client: Redis, session_id: str) -> NotRestorable:
    # The process that restored it may have died before it had added it to all indexes.
    state = SessionStore(client).state(session_id)
    if not state.is_final:
        _index_session(client, session_id, state)
    return NotRestorable(session_id, why="it is already live")


def _progress(archive: Archive, session_id: str) -> ArchiveProgress:
    return archive.writer.progress([session_id])[session_id]

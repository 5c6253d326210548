"""Restoring of archived sessions that Redis lost."""

from __future__ import annotations

from contextlib import suppress
from typing import TYPE_CHECKING, Literal

from redis import Redis

from ...models.errors import NotRestorable, SessionNotFound
from ...models.protocol.collab import CollabStatus
from ...models.sessions.archived import ArchiveProgress
from ...models.text.ids import new_id
from ...state.sessions.archiving import Restorer
from ...state.sessions.attachments import AttachmentStore
from ...state.sessions.family import read_children
from ...state.sessions.index import SessionIndex
from ...state.sessions.records import SessionState
from ...state.sessions.store import SessionStore
from ...state.turns.parked import Inbox
from ..planning.dispatch import resend_all
from ..runtime.graph import TaskGraph
from ..views.session_views import SessionFacts, read_facts
from ..waiting.parked_turn import read_all_questions

if TYPE_CHECKING:
    from ...archive.archive import Archive


_STREAMS: tuple[Literal["dialog", "events", "journal"], ...] = ("dialog", "events", "journal")


def restore(archive: Archive, client: Redis, graph: TaskGraph, session_id: str) -> None:
    """Restore the newest session of this id to Redis in its last archived state, and dispatch its due work.

    Its unfinished sub-sessions are restored before it. A turn that was running is granted again; the worker that ran it before the loss cannot commit.

    Raises:
        SessionNotFound: The session is not in the archive.
        NotRestorable: The session has ended, is live, or is being archived.
        ArchiveUnavailable, RedisUnavailable: The call may be repeated.
    """
    archive.prepare()
    reader, restorer = archive.reader, Restorer(client)
    archived, snapshot = reader.session(session_id), reader.snapshot(session_id)
    status = archived.fields["status"]
    if status in (CollabStatus.COMPLETED, CollabStatus.CANCELLED):
        raise NotRestorable(
            session_id,
            why=f"it is {status}; read it in the archive with `symposia show` and `symposia export`",
        )
    for child in read_children(snapshot.fields):
        with suppress(NotRestorable, SessionNotFound):  # it has ended, is live, or was never archived
            restore(archive, client, graph, child.session_id)
    before = _progress(archive, session_id)
    for stream in _STREAMS:
        if not restorer.refill(session_id, stream, reader.entries(session_id, stream)):
            raise _already_live(client, session_id)
    attachments = AttachmentStore(client)
    for sha256 in reader.attachments(session_id):
        if (data := reader.attachment(session_id, sha256)) is not None:
            attachments.add_data(session_id, sha256, data, is_early=True)
    if before != _progress(archive, session_id):
        raise NotRestorable(session_id, why="it is being archived; try again")
    # Add it to the index first: a crash after this line leaves an index entry without a session, a crash
    # after the next one a session that the sweep finds.
    SessionIndex(client).add_session(session_id, look_in_ms=0, archive_in_ms=0)
    state = restorer.restore(session_id, archived.documents, snapshot, request=new_id()).state
    if state is None:
        raise _already_live(client, session_id)
    facts = _index_session(client, session_id, state)
    if state.status is CollabStatus.ACTIVE:
        resend_all(graph, facts, state)


def _index_session(client: Redis, session_id: str, state: SessionState) -> SessionFacts:
    """Add a live session and its open questions to the indexes of people and sweeps."""
    index, store, inbox = SessionIndex(client), SessionStore(client), Inbox(client)
    # Add it again: an index entry without a session may have expired during the restore.
    index.add_session(session_id, look_in_ms=0, archive_in_ms=0)
    index.list_session(session_id, state.opened_ms)
    facts = read_facts(session_id, store.documents(session_id), state.opened_ms)
    if state.status is not CollabStatus.DRAFT:
        index.live.add(session_id, facts.collab.mode)
    index.live.set_suspended(session_id, facts.collab.mode, suspended=state.status is CollabStatus.SUSPENDED)
    for parked in read_all_questions(facts, state):
        inbox.add(parked.inbox_entries(), at_ms=parked.parking.parked_ms)
    return facts


def _already_live(client: Redis, session_id: str) -> NotRestorable:
    # The process that restored the session may have died before it updated all indexes.
    state = SessionStore(client).state(session_id)
    if not state.is_final:
        _index_session(client, session_id, state)
    return NotRestorable(session_id, why="it is already live")


def _progress(archive: Archive, session_id: str) -> ArchiveProgress:
    return archive.writer.progress([session_id])[session_id]

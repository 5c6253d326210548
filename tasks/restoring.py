"""Restoring: a session that Redis lost goes on from what the archive has of it."""

from __future__ import annotations

from typing import TYPE_CHECKING, Literal

from redis import Redis

from ..models.archived import Progress
from ..models.collab import CollabStatus
from ..models.errors import NotRestorable
from ..models.ids import new_id
from ..state.inbox import Inbox
from ..state.index import SessionIndex
from ..state.records import SessionState
from ..state.restoring import Restorer
from ..state.store import SessionStore
from .advance import redrive
from .asked import all_asked
from .graph import TaskGraph
from .view import SessionFacts, read_facts

if TYPE_CHECKING:
    from ..archive.archive import Archive

_STREAMS: tuple[Literal["dialog", "events", "journal"], ...] = ("dialog", "events", "journal")


def restore(archive: Archive, client: Redis, graph: TaskGraph, session_id: str) -> None:
    """Makes the newest session under this id live again, as it was archived last, and sends what it waits for.

    A turn that was under way is given out again; who spoke it before the loss is refused.

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
            session_id, why=f"it is {status}; `symposia show` and `export` read it where it is"
        )
    before = _progress(archive, session_id)
    for stream in _STREAMS:
        if not restorer.refill(session_id, stream, reader.entries(session_id, stream)):
            raise _live(client, session_id)
    if before != _progress(archive, session_id):
        raise NotRestorable(session_id, why="it is being archived at this moment; try again")
    # As when it was opened: dying after this line leaves a look at nothing, after the next one a session that is swept.
    SessionIndex(client).add(session_id, look_in_ms=0, archived=True)
    state = restorer.restore(session_id, found.documents, snapshot, request=new_id()).state
    if state is None:
        raise _live(client, session_id)
    facts = _enter(client, session_id, state)
    if state.status is CollabStatus.ACTIVE:
        redrive(graph, facts, state)


def _enter(client: Redis, session_id: str, state: SessionState) -> SessionFacts:
    """Enters a live session, and what it asks, where people and sweeps look for it."""
    index, store, inbox = SessionIndex(client), SessionStore(client), Inbox(client)
    # Once more: restoring may have taken longer than an entry without a session stays.
    index.add(session_id, look_in_ms=0, archived=True)
    index.list_at(session_id, state.opened_ms)
    facts = read_facts(session_id, store.documents(session_id), state.opened_ms)
    for asked in all_asked(facts, state):
        inbox.add(asked.letters(), at_ms=asked.parking.parked_ms)
    return facts


def _live(client: Redis, session_id: str) -> NotRestorable:
    # Whoever restored it may have died before it was entered everywhere.
    state = SessionStore(client).state(session_id)
    if not state.is_final:
        _enter(client, session_id, state)
    return NotRestorable(session_id, why="it is live")


def _progress(archive: Archive, session_id: str) -> Progress:
    return archive.writer.progress([session_id])[session_id]

"""Writer of the missing entries of a session: each once, also with concurrent and repeated calls.

The archived progress of a session is in the session's row, and is written in the same transaction as the
entries. So an archiver that is killed in a transaction has written nothing of it, and a second archiver
continues after the progress of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass

from sqlalchemy import Connection, select

from ...models.sessions.archived import STREAM_STARTS, ArchivePage, ArchiveProgress, StreamPositions
from ..engine import Database
from ..tables import COLLAB
from ..workspace.messages import deliver_session_messages
from . import rows
from .statements import DELETE_DOCUMENTS, FIND, MARKS, UPDATE_PROGRESS, insert_rows, inserts

#: Reader of the entries after a progress. If it raises, nothing is written.
ReadNextPage = Callable[[ArchiveProgress], ArchivePage]


@dataclass(frozen=True, slots=True)
class _Session:
    """The row of a session, locked for a transaction."""

    row: int
    progress: ArchiveProgress
    #: The row was added in this transaction.
    is_new: bool = False


class ArchiveWriter:
    """Writer of sessions. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def progress(self, session_ids: Sequence[str]) -> dict[str, ArchiveProgress]:
        """Return the archived progress of the newest session of each id; sessions not archived are left out."""
        columns = (COLLAB.c.collab_id, COLLAB.c.opened_ms, COLLAB.c.updated_ms, *MARKS)
        wanted = select(*columns).where(COLLAB.c.collab_id.in_(session_ids))
        with self._database.reading() as connection:
            found = connection.execute(wanted.order_by(COLLAB.c.opened_ms))
            return {it[0]: ArchiveProgress(it[1], it[2], StreamPositions(*it[3:])) for it in found}

    def write(self, page: ArchivePage, read_on: ReadNextPage) -> ArchivePage:
        """Archive a session from `page` up to a snapshot, completely or not at all.

        `read_on` is called for the following entries, and again for all of them after a concurrent write.
        Return the last page, which has the snapshot.
        """
        with self._database.writing() as connection:
            session = _locked(connection, page)
            if session.progress.marks != page.since:
                page = read_on(session.progress)
            while True:
                _insert_entries(connection, session, page)
                if page.snapshot is not None:
                    break
                page = read_on(ArchiveProgress(page.opened_ms, 0, page.until))
            _update_progress(connection, session, page)
        return page


def _locked(connection: Connection, page: ArchivePage) -> _Session:
    """Lock the row of a session; add it if there is none."""
    found = None if page.since == STREAM_STARTS else _find(connection, page)
    if found is None:
        insert = inserts(connection.dialect.name).session
        added = connection.execute(
            insert, rows.collab_row(page.documents, page.opened_ms)
        ).scalar_one_or_none()
        if added is not None:
            return _Session(added, ArchiveProgress(page.opened_ms), is_new=True)
        found = _find(connection, page)
        assert found is not None  # noqa: S101 - it was written before this transaction
    return found


def _find(connection: Connection, page: ArchivePage) -> _Session | None:
    key = {"the_id": page.session_id, "the_time": page.opened_ms}
    found = connection.execute(FIND, key).one_or_none()
    if found is None:
        return None
    row, updated_ms, *marks = found
    return _Session(row, ArchiveProgress(page.opened_ms, updated_ms, StreamPositions(*marks)))


def _insert_entries(connection: Connection, session: _Session, page: ArchivePage) -> None:
    to, row = inserts(connection.dialect.name), session.row
    insert_rows(connection, to.message, [rows.message_row(row, it) for it in page.dialog])
    deliver_session_messages(connection, page)
    for insert, entries in ((to.map_event, page.events), (to.collab_event, page.journal)):
        insert_rows(connection, insert, [rows.event_row(row, it) for it in entries])
    began, ended = rows.turn_rows(row, page.events)
    insert_rows(connection, to.turn_began, began)
    insert_rows(connection, to.turn_ended, ended)


def _update_progress(connection: Connection, session: _Session, page: ArchivePage) -> None:
    assert page.snapshot is not None  # noqa: S101 - `write` reads pages until there is one
    fields = page.snapshot.fields
    changed = {
        **rows.collab_row(page.documents, page.opened_ms),
        **rows.progress_columns(fields),
        **{f"{stream}_mark": mark for stream, mark in page.until._asdict().items()},
    }
    _write_documents(connection, session, page, status=fields["dialog_status"])
    connection.execute(UPDATE_PROGRESS, {"the_row": session.row, **changed})
    newest = inserts(connection.dialect.name).snapshot
    connection.execute(newest, {"session": session.row, **rows.snapshot_row(page.snapshot)})


def _write_documents(connection: Connection, session: _Session, page: ArchivePage, *, status: str) -> None:
    """Write the documents of a session, which may change while it runs."""
    if not session.is_new:
        for delete in DELETE_DOCUMENTS:
            connection.execute(delete, {"the_row": session.row})
    to = inserts(connection.dialect.name)
    people, tags = rows.roster_rows(page.documents, session.row)
    dialog = rows.dialog_row(page.documents, session.row, session_id=page.session_id, status=status)
    for insert, values in ((to.participant, people), (to.tag, tags), (to.dialog, [dialog])):
        insert_rows(connection, insert, values)

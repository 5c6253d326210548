"""Writer of the missing entries of a session: each once, also with concurrent and repeated calls.

The archived progress of a session is in the session's row, and is written in the same transaction as the
entries. So an archiver that is killed in a transaction has written nothing of it, and a second archiver
continues after the progress of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, Insert, Row, Table, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from ...models.sessions.archived import ArchivePage, ArchiveProgress, StreamPositions
from ..engine import Database
from ..tables import COLLAB, COLLAB_EVENT, DIALOG, MAP_EVENT, MESSAGE, PARTICIPANT, SNAPSHOT, TAG, TURN
from ..workspace.messages import deliver_session_messages
from . import rows

#: Reader of the entries after a progress. If it raises, nothing is written.
ReadNextPage = Callable[[ArchiveProgress], ArchivePage]


class ArchiveWriter:
    """Writer of sessions. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def progress(self, session_ids: Sequence[str]) -> dict[str, ArchiveProgress]:
        """Return the archived progress of the newest session of each id; sessions not archived are left out."""
        columns = (COLLAB.c.collab_id, COLLAB.c.opened_ms, COLLAB.c.updated_ms, *_MARKS)
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
            session, progress = self._locked(connection, page)
            if progress.marks != page.since:
                page = read_on(progress)
            while True:
                _insert_entries(connection, session, page)
                if page.snapshot is not None:
                    break
                page = read_on(ArchiveProgress(page.opened_ms, 0, page.until))
            _update_progress(connection, session, page)
        return page

    def _locked(self, connection: Connection, page: ArchivePage) -> tuple[int, ArchiveProgress]:
        """Return the session's row and progress, locked for this transaction."""
        found = _find(connection, page)
        if found is None:
            values = rows.collab_row(page.documents, page.opened_ms)
            connection.execute(_insert(connection, COLLAB).on_conflict_do_nothing(), values)
            found = _find(connection, page)
            assert found is not None  # noqa: S101 - written in this transaction or before
        return found.id, ArchiveProgress(page.opened_ms, found.updated_ms, StreamPositions(*found[2:]))


_MARKS = (COLLAB.c.dialog_mark, COLLAB.c.events_mark, COLLAB.c.journal_mark)


def _find(connection: Connection, page: ArchivePage) -> Row[*tuple[Any, ...]] | None:
    wanted = select(COLLAB.c.id, COLLAB.c.updated_ms, *_MARKS).where(
        COLLAB.c.collab_id == page.session_id, COLLAB.c.opened_ms == page.opened_ms
    )
    return connection.execute(wanted.with_for_update()).one_or_none()


def _insert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    # Inline, because the keys of the inserted rows are not needed.
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table).inline()
    return postgresql.insert(table).inline()


def _insert_rows(connection: Connection, statement: Insert, values: Sequence[rows.Row]) -> None:
    if values:
        connection.execute(statement, list(values))


def _write_documents(connection: Connection, session: int, page: ArchivePage, *, status: str) -> None:
    """Update the documents of a session: collab and spec may change while it runs."""
    documents, session_id = page.documents, page.session_id
    people, tags = rows.roster_rows(documents, session)
    for table in (PARTICIPANT, TAG, DIALOG):
        connection.execute(delete(table).where(table.c.session == session))
    dialog = rows.dialog_row(documents, session, session_id=session_id, status=status)
    for table, values in ((PARTICIPANT, people), (TAG, tags), (DIALOG, [dialog])):
        _insert_rows(connection, _insert(connection, table), values)


def _insert_entries(connection: Connection, session: int, page: ArchivePage) -> None:
    _insert_rows(
        connection, _insert(connection, MESSAGE), [rows.message_row(session, it) for it in page.dialog]
    )
    deliver_session_messages(connection, page)
    for table, entries in ((MAP_EVENT, page.events), (COLLAB_EVENT, page.journal)):
        _insert_rows(connection, _insert(connection, table), [rows.event_row(session, it) for it in entries])
    began, ended = rows.turn_rows(session, page.events)
    key = ["session", "token_id"]
    _insert_rows(connection, _insert(connection, TURN).on_conflict_do_nothing(index_elements=key), began)
    ending = _insert(connection, TURN)
    updated = {name: ending.excluded[name] for name in ("outcome", "error", "ended_ms", *rows.COUNTS)}
    _insert_rows(connection, ending.on_conflict_do_update(index_elements=key, set_=updated), ended)


def _update_progress(connection: Connection, session: int, page: ArchivePage) -> None:
    assert page.snapshot is not None  # noqa: S101 - `write` reads pages until there is one
    fields = page.snapshot.fields
    changed = {
        **rows.collab_row(page.documents, page.opened_ms),
        **rows.progress_columns(fields),
        **{f"{stream}_mark": mark for stream, mark in page.until._asdict().items()},
    }
    _write_documents(connection, session, page, status=fields["dialog_status"])
    connection.execute(update(COLLAB).where(COLLAB.c.id == session).values(**changed))
    hashes = rows.snapshot_row(page.snapshot)
    newest = _insert(connection, SNAPSHOT)
    connection.execute(
        newest.on_conflict_do_update(index_elements=["session"], set_=hashes), {"session": session, **hashes}
    )

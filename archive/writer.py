"""Writes what the archive lacks of a session: each entry once, whoever archives, however often.

How far a session is archived stands in its own row, and is written in the transaction that writes the
rows it speaks of. So whoever was killed in between has written nothing, and whoever comes second finds
it done.
"""

from __future__ import annotations

from collections.abc import Callable, Sequence
from typing import Any

from sqlalchemy import Connection, Insert, Row, Table, delete, select, update
from sqlalchemy.dialects import postgresql, sqlite

from ..models.archived import Marks, Page, Progress
from . import rows
from .conversations.delivery import deliver
from .engine import Database
from .tables import COLLAB, COLLAB_EVENT, DIALOG, MAP_EVENT, MESSAGE, PARTICIPANT, SNAPSHOT, TAG, TURN

#: Reads the entries behind some progress. Raises whatever it likes: nothing is written then.
ReadOn = Callable[[Progress], Page]


class ArchiveWriter:
    """Writes sessions. Raises ArchiveUnavailable from every method."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def progress(self, session_ids: Sequence[str]) -> dict[str, Progress]:
        """How far the newest session under each id is archived; those that are not are left out."""
        columns = (COLLAB.c.collab_id, COLLAB.c.opened_ms, COLLAB.c.updated_ms, *_MARKS)
        wanted = select(*columns).where(COLLAB.c.collab_id.in_(session_ids))
        with self._database.reading() as connection:
            found = connection.execute(wanted.order_by(COLLAB.c.opened_ms))
            return {it[0]: Progress(it[1], it[2], Marks(*it[3:])) for it in found}

    def write(self, page: Page, read_on: ReadOn) -> Page:
        """Archives a session up to a snapshot of it, from `page` on: all of it, or nothing.

        `read_on` is asked for what follows, and for everything when somebody else was faster.
        Answers the last page, which is the one with the snapshot.
        """
        with self._database.writing() as connection:
            session, progress = self._locked(connection, page)
            if progress.marks != page.since:
                page = read_on(progress)
            while True:
                _insert_entries(connection, session, page)
                if page.snapshot is not None:
                    break
                page = read_on(Progress(page.opened_ms, 0, page.until))
            _move_on(connection, session, page)
        return page

    def _locked(self, connection: Connection, page: Page) -> tuple[int, Progress]:
        """The session's row, for this transaction alone."""
        found = _find(connection, page)
        if found is None:
            values = rows.collab_row(page.documents, page.opened_ms)
            connection.execute(_insert(connection, COLLAB).on_conflict_do_nothing(), values)
            found = _find(connection, page)
            assert found is not None  # noqa: S101 - it was written in this very transaction, or before
        return found.id, Progress(page.opened_ms, found.updated_ms, Marks(*found[2:]))


_MARKS = (COLLAB.c.dialog_mark, COLLAB.c.events_mark, COLLAB.c.journal_mark)


def _find(connection: Connection, page: Page) -> Row[*tuple[Any, ...]] | None:
    wanted = select(COLLAB.c.id, COLLAB.c.updated_ms, *_MARKS).where(
        COLLAB.c.collab_id == page.session_id, COLLAB.c.opened_ms == page.opened_ms
    )
    return connection.execute(wanted.with_for_update()).one_or_none()


def _insert(connection: Connection, table: Table) -> postgresql.Insert | sqlite.Insert:
    # Inline: nobody asks for the keys of what was inserted.
    if connection.dialect.name == "sqlite":
        return sqlite.insert(table).inline()
    return postgresql.insert(table).inline()


def _add(connection: Connection, statement: Insert, values: Sequence[rows.Row]) -> None:
    if values:
        connection.execute(statement, list(values))


def _write_documents(connection: Connection, session: int, page: Page, *, status: str) -> None:
    """What a session is run with may be changed while it runs."""
    documents, session_id = page.documents, page.session_id
    people, tags = rows.roster_rows(documents, session)
    for table in (PARTICIPANT, TAG, DIALOG):
        connection.execute(delete(table).where(table.c.session == session))
    dialog = rows.dialog_row(documents, session, session_id=session_id, status=status)
    for table, values in ((PARTICIPANT, people), (TAG, tags), (DIALOG, [dialog])):
        _add(connection, _insert(connection, table), values)


def _insert_entries(connection: Connection, session: int, page: Page) -> None:
    _add(connection, _insert(connection, MESSAGE), [rows.message_row(session, it) for it in page.dialog])
    deliver(connection, page)
    for table, entries in ((MAP_EVENT, page.events), (COLLAB_EVENT, page.journal)):
        _add(connection, _insert(connection, table), [rows.event_row(session, it) for it in entries])
    began, ended = rows.turn_rows(session, page.events)
    key = ["session", "token_id"]
    _add(connection, _insert(connection, TURN).on_conflict_do_nothing(index_elements=key), began)
    ending = _insert(connection, TURN)
    told = {name: ending.excluded[name] for name in ("outcome", "error", "ended_ms", *rows.COUNTS)}
    _add(connection, ending.on_conflict_do_update(index_elements=key, set_=told), ended)


def _move_on(connection: Connection, session: int, page: Page) -> None:
    assert page.snapshot is not None  # noqa: S101 - `write` reads on until there is one
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

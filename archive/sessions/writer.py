"""Writer of the missing entries of a session: each once, also with concurrent and repeated calls.

The archived progress of a session is in the session's row, and is written in the same transaction as the
entries. So an archiver that is killed in a transaction has written nothing of it, and a second archiver
continues after the progress of the first.
"""

from __future__ import annotations

from collections.abc import Callable, Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass
from functools import cache
from itertools import groupby
from typing import Any, Protocol, TypeAlias

from sqlalchemy import Connection, Select, Table, Update, bindparam, delete, select, update

from ...models.sessions.archived import STREAM_STARTS, ArchivePage, ArchiveProgress, Snapshot, StreamPositions
from ..engine import Database, insert_into
from ..tables import (
    ATTACHMENT,
    BLOB,
    COLLAB,
    COLLAB_EVENT,
    DIALOG,
    MAP_EVENT,
    MESSAGE,
    PARTICIPANT,
    RECORDED_TURN,
    SNAPSHOT,
    TAG,
    TURN,
)
from . import rows

_MARKS = (COLLAB.c.dialog_mark, COLLAB.c.events_mark, COLLAB.c.journal_mark)
# Statements are built once: building one takes longer than executing it.
#: The row and the progress of a session, locked. Parameters: `the_id`, `the_time`.
_FIND: Select[Any] = (
    select(COLLAB.c.id, COLLAB.c.updated_ms, *_MARKS)
    .where(COLLAB.c.collab_id == bindparam("the_id"), COLLAB.c.opened_ms == bindparam("the_time"))
    .with_for_update()
)
#: Parameters: `the_row`, and the columns to change.
_UPDATE_PROGRESS: Update = update(COLLAB).where(COLLAB.c.id == bindparam("the_row"))
#: Tables with the documents of a session, and the deletions of their rows. Parameter: `the_row`.
_DOCUMENTS = (PARTICIPANT, TAG, DIALOG)
_DELETE_DOCUMENTS = tuple(
    delete(table).where(table.c.session == bindparam("the_row")) for table in _DOCUMENTS
)
#: Columns that a later row of a turn or snapshot replaces.
_END_OF_TURN = ("outcome", "error", "ended_ms", *rows.COUNTS)
_SNAPSHOT = ("fields", "turns", "board")

#: Reader of the entries after a progress. If it raises, nothing is written.
ReadNextPage = Callable[[ArchiveProgress], ArchivePage]
#: Reader of the records of turns that are not archived yet, by token.
ReadRecords = Callable[[], Mapping[str, str]]


class AttachmentSource(Protocol):
    """The attachments of a live session."""

    def digests(self) -> Sequence[str]:
        """Return the digests of all of them."""
        ...

    def read(self, sha256: str) -> bytes | None:
        """Return the bytes with a digest; None: the session no longer has them."""
        ...


@dataclass(frozen=True, slots=True)
class _Session:
    """The row of a session, locked for a transaction."""

    row: int
    progress: ArchiveProgress
    #: The row was added in this transaction.
    is_new: bool = False


_Sessions: TypeAlias = Sequence[tuple[_Session, ArchivePage]]


class ArchiveWriter:
    """Writer of sessions. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database, deliver: Callable[[Connection, ArchivePage], None]) -> None:
        self._database = database
        self._deliver = deliver

    def progress(self, session_ids: Sequence[str]) -> dict[str, ArchiveProgress]:
        """Return the archived progress of the newest session of each id; sessions not archived are left out."""
        columns = (COLLAB.c.collab_id, COLLAB.c.opened_ms, COLLAB.c.updated_ms, *_MARKS)
        wanted = select(*columns).where(COLLAB.c.collab_id.in_(session_ids))
        with self._database.reading() as connection:
            progress_rows = connection.execute(wanted.order_by(COLLAB.c.opened_ms))
            return {
                row[0]: ArchiveProgress(row[1], row[2], StreamPositions(*row[3:])) for row in progress_rows
            }

    def write(
        self,
        page: ArchivePage,
        read_on: ReadNextPage,
        read_records: ReadRecords | None = None,
        attachments: AttachmentSource | None = None,
    ) -> ArchivePage:
        """Archive a session from `page` up to a snapshot, completely or not at all.

        `read_on` is called for the following entries, and again for all of them after a concurrent write.
        `read_records` is called last, for a session that records its calls: the record of a turn is older than
        the turn. `attachments` are those of the session, read one at a time. Return the last page, which has the
        snapshot.
        """
        with self._database.writing() as connection:
            session = _locked(connection, page)
            if session.progress.marks != page.since:
                page = read_on(session.progress)
            while True:
                _insert_entries(connection, [(session, page)])
                self._deliver(connection, page)
                if page.snapshot is not None:
                    break
                page = read_on(ArchiveProgress(page.opened_ms, 0, page.until))
            _update_progress(connection, [(session, page)])
            if read_records is not None and rows.is_recorded(page.documents):
                values = [rows.record_row(session.row, *record) for record in read_records().items()]
                _insert(connection, RECORDED_TURN, values, replaced=())
            if attachments is not None and has_attachments(page):
                _insert_attachments(connection, session.row, attachments)
        return page

    @staticmethod
    def fits_together(page: ArchivePage) -> bool:
        """Return whether `write_all` takes a page: it ends with a snapshot, and has no rows but those of the session."""
        is_alone = not (rows.has_more_rows(page.documents) or has_attachments(page))
        return page.snapshot is not None and is_alone

    def write_all(self, pages: Sequence[ArchivePage]) -> bool:
        """Archive several sessions in one transaction, each from a page for which `fits_together` is true.

        Return False, without a change, if another archiver wrote one of them meanwhile.
        """
        with suppress(_WrittenMeanwhile), self._database.writing() as connection:
            # Sorted, so that two archivers do not wait for each other.
            ordered = sorted(pages, key=lambda page: page.session_id)
            sessions = [(_locked(connection, page), page) for page in ordered]
            if any(session.progress.marks != page.since for session, page in sessions):
                raise _WrittenMeanwhile
            _insert_entries(connection, sessions)
            _update_progress(connection, sessions)
            return True
        return False


def has_attachments(page: ArchivePage) -> bool:
    """Return whether the session of a page with a snapshot has attachments."""
    return page.snapshot is not None and int(page.snapshot.fields.get("attachments", 0)) > 0


def _insert_attachments(connection: Connection, session: int, source: AttachmentSource) -> None:
    """Write the attachments that the archive does not have for a session. One is in memory at a time."""
    stored_digests = set(
        connection.execute(select(ATTACHMENT.c.sha256).where(ATTACHMENT.c.session == session)).scalars()
    )
    for sha256 in sorted(set(source.digests()) - stored_digests):
        is_stored = connection.execute(select(BLOB.c.sha256).where(BLOB.c.sha256 == sha256)).first()
        if is_stored is None:
            body = source.read(sha256)
            if body is None:
                continue
            _insert(connection, BLOB, [{"sha256": sha256, "body": body}], replaced=())
        _insert(connection, ATTACHMENT, [{"session": session, "sha256": sha256}], replaced=())


class _WrittenMeanwhile(Exception):
    """Another archiver wrote a session after its page was read."""


def _locked(connection: Connection, page: ArchivePage) -> _Session:
    """Lock the row of a session; add it if there is none."""
    session = None if page.since == STREAM_STARTS else _find(connection, page)
    if session is None:
        insert = _insert_session(connection.dialect.name)
        row = rows.collab_row(page.documents, page.opened_ms)
        added = connection.execute(insert, row).scalar_one_or_none()
        if added is not None:
            return _Session(added, ArchiveProgress(page.opened_ms), is_new=True)
        session = _find(connection, page)
        assert session is not None  # noqa: S101 - it was written before this transaction
    return session


def _find(connection: Connection, page: ArchivePage) -> _Session | None:
    key = {"the_id": page.session_id, "the_time": page.opened_ms}
    session_row = connection.execute(_FIND, key).one_or_none()
    if session_row is None:
        return None
    row, updated_ms, *marks = session_row
    return _Session(row, ArchiveProgress(page.opened_ms, updated_ms, StreamPositions(*marks)))


@cache
def _insert_session(dialect: str) -> Any:
    """Return the insertion of a session that is new; it returns its row, or nothing if there is one."""
    return insert_into(COLLAB, dialect).on_conflict_do_nothing().returning(COLLAB.c.id)


@cache
def _insertion(dialect: str, table: Table, replaced: tuple[str, ...] | None) -> Any:
    # Inline, because the keys of the inserted rows are not needed.
    statement = insert_into(table, dialect).inline()
    if replaced is None:
        return statement
    if not replaced:
        return statement.on_conflict_do_nothing()
    return statement.on_conflict_do_update(
        index_elements=table.primary_key.columns, set_={name: statement.excluded[name] for name in replaced}
    )


def _insert(
    connection: Connection,
    table: Table,
    values: Sequence[rows.Row],
    *,
    replaced: tuple[str, ...] | None = None,
) -> None:
    """Insert rows. Of a row that the table has, the columns `replaced` change; None: it has none of them."""
    if values:
        connection.execute(_insertion(connection.dialect.name, table, replaced), list(values))


def _insert_entries(connection: Connection, sessions: _Sessions) -> None:
    messages = [rows.message_row(session.row, entry) for session, page in sessions for entry in page.dialog]
    _insert(connection, MESSAGE, messages)
    map_events = [rows.event_row(session.row, entry) for session, page in sessions for entry in page.events]
    _insert(connection, MAP_EVENT, map_events)
    notes = [rows.event_row(session.row, entry) for session, page in sessions for entry in page.journal]
    _insert(connection, COLLAB_EVENT, notes)
    turns = [rows.turn_rows(session.row, page.events) for session, page in sessions]
    _insert(connection, TURN, [turn for began, _ in turns for turn in began], replaced=())
    _insert(connection, TURN, [turn for _, ended in turns for turn in ended], replaced=_END_OF_TURN)


def _update_progress(connection: Connection, sessions: _Sessions) -> None:
    _write_documents(connection, sessions)
    changes = sorted(
        ({"the_row": session.row, **_changed_columns(page)} for session, page in sessions), key=sorted
    )
    for _, same_columns in groupby(changes, key=sorted):
        connection.execute(_UPDATE_PROGRESS, list(same_columns))
    snapshots = [{"session": session.row, **rows.snapshot_row(_snapshot(page))} for session, page in sessions]
    _insert(connection, SNAPSHOT, snapshots, replaced=_SNAPSHOT)


def _changed_columns(page: ArchivePage) -> rows.Row:
    return {
        **rows.collab_row(page.documents, page.opened_ms),
        **rows.progress_columns(_snapshot(page).fields),
        **{f"{stream}_mark": mark for stream, mark in page.until._asdict().items()},
    }


def _snapshot(page: ArchivePage) -> Snapshot:
    assert page.snapshot is not None  # noqa: S101 - the last page of each session has it
    return page.snapshot


def _write_documents(connection: Connection, sessions: _Sessions) -> None:
    """Write the documents of sessions, which may change while they run."""
    if existing_rows := [{"the_row": session.row} for session, _ in sessions if not session.is_new]:
        for statement in _DELETE_DOCUMENTS:
            connection.execute(statement, existing_rows)
    people, tags, dialogs = [], [], []
    for session, page in sessions:
        of_people, of_tags = rows.roster_rows(page.documents, session.row)
        people += of_people
        tags += of_tags
        status = _snapshot(page).fields["dialog_status"]
        dialogs.append(
            rows.dialog_row(page.documents, session.row, session_id=page.session_id, status=status)
        )
    for table, values in zip(_DOCUMENTS, (people, tags, dialogs), strict=True):
        _insert(connection, table, values)

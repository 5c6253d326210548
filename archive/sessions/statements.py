"""The statements of the writer, built once for each kind of database: building one takes longer than executing it."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from functools import cache
from typing import Any

from sqlalchemy import (
    Connection,
    Delete,
    Executable,
    Select,
    Table,
    Update,
    bindparam,
    delete,
    select,
    update,
)
from sqlalchemy.sql.selectable import TypedReturnsRows

from ..engine import insert_into
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
from .rows import COUNTS, Row

MARKS = (COLLAB.c.dialog_mark, COLLAB.c.events_mark, COLLAB.c.journal_mark)

#: The row and the progress of a session, locked. Parameters: `the_id`, `the_time`.
FIND: Select[Any] = (
    select(COLLAB.c.id, COLLAB.c.updated_ms, *MARKS)
    .where(COLLAB.c.collab_id == bindparam("the_id"), COLLAB.c.opened_ms == bindparam("the_time"))
    .with_for_update()
)
#: Parameters: `the_row`, and the columns to change.
UPDATE_PROGRESS: Update = update(COLLAB).where(COLLAB.c.id == bindparam("the_row"))
#: Parameter: `the_row`.
DELETE_DOCUMENTS: tuple[Delete, ...] = tuple(
    delete(table).where(table.c.session == bindparam("the_row")) for table in (PARTICIPANT, TAG, DIALOG)
)


@dataclass(frozen=True)
class Inserts:
    """Insertions in the dialect of a database. Their parameters are the columns."""

    #: A session that is new; returns its row, or nothing if there is one.
    session: TypedReturnsRows[int]
    participant: Executable
    tag: Executable
    dialog: Executable
    message: Executable
    map_event: Executable
    collab_event: Executable
    #: A turn that began, unless it is known.
    turn_began: Executable
    #: A turn that ended, also if it is known.
    turn_ended: Executable
    #: The newest snapshot; it replaces the one before.
    snapshot: Executable
    #: The record of a turn, unless it is known.
    recorded_turn: Executable
    #: The bytes of an attachment, unless they are known.
    blob: Executable
    #: An attachment of a session, unless it is known.
    attachment: Executable


@cache
def inserts(dialect: str) -> Inserts:
    """Return the insertions for `sqlite` or `postgresql`."""

    def into(table: Table) -> Any:
        # Inline, because the keys of the inserted rows are not needed.
        return insert_into(table, dialect).inline()

    turn_key, turn, snapshot = ["session", "token_id"], into(TURN), into(SNAPSHOT)
    return Inserts(
        session=insert_into(COLLAB, dialect).on_conflict_do_nothing().returning(COLLAB.c.id),
        participant=into(PARTICIPANT),
        tag=into(TAG),
        dialog=into(DIALOG),
        message=into(MESSAGE),
        map_event=into(MAP_EVENT),
        collab_event=into(COLLAB_EVENT),
        turn_began=turn.on_conflict_do_nothing(index_elements=turn_key),
        turn_ended=turn.on_conflict_do_update(
            index_elements=turn_key,
            set_={name: turn.excluded[name] for name in ("outcome", "error", "ended_ms", *COUNTS)},
        ),
        snapshot=snapshot.on_conflict_do_update(
            index_elements=["session"],
            set_={name: snapshot.excluded[name] for name in ("fields", "turns", "board")},
        ),
        recorded_turn=into(RECORDED_TURN).on_conflict_do_nothing(),
        blob=into(BLOB).on_conflict_do_nothing(),
        attachment=into(ATTACHMENT).on_conflict_do_nothing(),
    )


def insert_rows(connection: Connection, statement: Executable, values: Sequence[Row]) -> None:
    """Execute an insertion for all rows at once; without rows, do nothing."""
    if values:
        connection.execute(statement, list(values))

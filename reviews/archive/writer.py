"""Writer of review runs, and deletion of old ones in batches, with their items and findings."""

from __future__ import annotations

from collections.abc import Sequence

from sqlalchemy import Connection, delete, func, select, tuple_

from ...archive.engine import Database, insert_into
from ..values.runs import ItemKind, ReviewRun
from .tables import FINDING, REVIEW_ITEM, REVIEW_RUN, finding_rows, item_rows, run_row


class ReviewWriter:
    """Writer of runs. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, run: ReviewRun) -> None:
        """Write a run with its items and findings; replace an earlier version with the same id."""
        with self._database.writing() as connection:
            row = _locked(connection, run)
            for table, values in ((REVIEW_ITEM, item_rows(run, row)), (FINDING, finding_rows(run, row))):
                connection.execute(delete(table).where(table.c.run == row))
                if values:
                    connection.execute(table.insert(), values)


def _locked(connection: Connection, run: ReviewRun) -> int:
    """Insert or update the run's row, lock it for this transaction, and return its key."""
    values = run_row(run)
    insertion = insert_into(REVIEW_RUN, connection.dialect.name).values(**values)
    upsert = insertion.on_conflict_do_update(index_elements=["run_id"], set_=values)
    return int(connection.execute(upsert.returning(REVIEW_RUN.c.id)).scalar_one())


class ReviewPruner:
    """Finder and deleter of old review runs. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def find(self, *, before_ms: int, after_row: int = 0, limit: int = 100) -> list[int]:
        """Return the rows of runs that ended (or began, if they never ended) before a time, after the row `after_row`.

        The newest run of a root and a panel is kept at any age, because the next run is compared with it.
        """
        newest = select(func.max(REVIEW_RUN.c.id)).group_by(REVIEW_RUN.c.root, REVIEW_RUN.c.panel)
        query = (
            select(REVIEW_RUN.c.id)
            .where(REVIEW_RUN.c.id > after_row, REVIEW_RUN.c.id.not_in(newest))
            .where(func.coalesce(REVIEW_RUN.c.ended_ms, REVIEW_RUN.c.started_ms) < before_ms)
        )
        with self._database.reading() as connection:
            return list(connection.execute(query.order_by(REVIEW_RUN.c.id).limit(limit)).scalars())

    def delete(self, rows: Sequence[int]) -> None:
        """Delete runs with their items and findings."""
        with self._database.writing() as connection:
            connection.execute(delete(REVIEW_RUN).where(REVIEW_RUN.c.id.in_(rows)))

    def delete_session_results(self, session_ids: Sequence[str]) -> None:
        """Delete the results of reviews of archived sessions, in all runs with these sessions as items."""
        item = REVIEW_ITEM.c
        keys = [f"session:{session_id}" for session_id in session_ids]
        about_them = (item.kind == ItemKind.SESSION.value) & item.item_key.in_(keys)
        places = select(item.run, item.path).where(about_them)
        with self._database.writing() as connection:
            connection.execute(delete(FINDING).where(tuple_(FINDING.c.run, FINDING.c.path).in_(places)))
            connection.execute(delete(REVIEW_ITEM).where(about_them))

"""Writer of review runs: each is stored once, in its last state, with any number of writers and calls."""

from __future__ import annotations

from sqlalchemy import Connection, delete
from sqlalchemy.dialects import postgresql, sqlite

from ...models.review.runs import ReviewRun
from ..database.engine import Database
from .rows import finding_rows, item_rows, run_row
from .tables import FINDING, REVIEW_ITEM, REVIEW_RUN


class ReviewWriter:
    """Writer of runs. Raises ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, run: ReviewRun) -> None:
        """Write a run with its items and findings; replaces an earlier version with the same id."""
        with self._database.writing() as connection:
            row = _locked(connection, run)
            for table, values in (
                (REVIEW_ITEM, item_rows(run, row)),
                (FINDING, finding_rows(run, row)),
            ):
                connection.execute(delete(table).where(table.c.run == row))
                if values:
                    connection.execute(table.insert(), values)


def _locked(connection: Connection, run: ReviewRun) -> int:
    """Insert or update the run's row, lock it for this transaction, and return its key."""
    values = run_row(run)
    insert = sqlite.insert if connection.dialect.name == "sqlite" else postgresql.insert
    upsert = insert(REVIEW_RUN).values(**values).on_conflict_do_update(index_elements=["run_id"], set_=values)
    return int(connection.execute(upsert.returning(REVIEW_RUN.c.id)).scalar_one())

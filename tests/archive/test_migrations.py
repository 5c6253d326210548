"""The schema of the archive: created, checked, and removed."""

from __future__ import annotations

import sqlite3
import subprocess
import sys
import threading
from contextlib import closing
from pathlib import Path

import pytest
from alembic.autogenerate import compare_metadata
from alembic.runtime.migration import MigrationContext
from sqlalchemy import Connection, Index, inspect, text

from scaling import patient
from symposia.archive.archive import LOCK, OLDEST_REVISION, REVISION, Archive, migrate, revision_of
from symposia.archive.engine import Database
from symposia.archive.tables import MESSAGE, METADATA
from symposia.models.errors import ArchiveError
from symposia.reviews.archive import tables as review_tables
from symposia.workspace.sql import tables as workspace_tables
from symposia.workspace.sql.store import deliver_to_conversation

pytestmark = pytest.mark.leaves_keys


#: Modules whose tables the archive has.
TABLES = (review_tables, workspace_tables)
#: The index for the count of a reader's own messages. Its condition imports the dialects, so the code, which only reads,
#: does not declare it.
Index(
    None,
    *(MESSAGE.c.conversation, MESSAGE.c.speaker, MESSAGE.c.seq),
    sqlite_where=text("conversation IS NOT NULL"),
    postgresql_where=text("conversation IS NOT NULL"),
)


def is_ours(_item: object, name: str | None, *_more: object) -> bool:
    """Not the tables of the full-text index, which SQLite keeps for itself, nor its index of lists."""
    return not (name or "").startswith(("message_words", "ix_message_words", "ix_collab_listed"))


def differences(connection: Connection) -> list[object]:
    options = {"include_object": is_ours, "compare_type": True}
    return compare_metadata(MigrationContext.configure(connection, opts=options), METADATA)


def test_new_database_has_the_tables_of_the_code(database_url: str) -> None:
    database = Database(database_url)
    migrate(database)
    with database.reading() as connection:
        assert differences(connection) == []
        assert revision_of(connection) == REVISION
    database.close()


LOADED = """
import sys
from symposia.archive.archive import Archive
from symposia.workspace.sql.store import deliver_to_conversation
archive = Archive(sys.argv[1], deliver_to_conversation)
archive.prepare()
assert archive.reader.page().items == ()
print("alembic" in sys.modules)
"""


@pytest.mark.timeout(150)
@pytest.mark.long
def test_current_schema_loads_no_migration(database_url: str) -> None:
    def loaded() -> str:
        command = [sys.executable, "-c", LOADED, database_url]
        return subprocess.run(
            command, capture_output=True, text=True, timeout=patient(50), check=True
        ).stdout.strip()

    assert [loaded(), loaded()] == ["True", "False"]
    database = Database(database_url)
    with database.writing() as connection:  # nobody else may write meanwhile
        if not database.is_sqlite:
            connection.execute(text("SELECT pg_advisory_xact_lock(:key)"), {"key": LOCK})
        assert loaded() == "False"
    database.close()


@pytest.mark.parametrize(
    ("revision", "message"),
    [
        ("9999", rf"has a newer schema \(9999, supported: {REVISION}\): run the newer Symposia"),
        (
            "0010",
            rf"has an older schema \(0010, supported: {OLDEST_REVISION}\): upgrade it with Symposia 0.1.0 first",
        ),
    ],
)
def test_unknown_schema_is_refused_unchanged(database_url: str, revision: str, message: str) -> None:
    archive = Archive(database_url, deliver_to_conversation)
    archive.prepare()
    with archive.database.writing() as connection:
        connection.execute(text("UPDATE alembic_version SET version_num = :it"), {"it": revision})
    other = Archive(database_url, deliver_to_conversation)
    with pytest.raises(ArchiveError, match=message):
        other.prepare()
    with archive.database.reading() as connection:
        assert revision_of(connection) == revision
    for it in (archive, other):
        it.close()


def test_full_downgrade_leaves_no_tables(database_url: str) -> None:
    database = Database(database_url)
    migrate(database)
    migrate(database, "base")
    with database.reading() as connection:
        assert set(inspect(connection).get_table_names()) <= {"alembic_version"}
        assert revision_of(connection) is None
    database.close()


def test_concurrent_archives_migrate_once(database_url: str) -> None:
    archives = [Archive(database_url, deliver_to_conversation) for _ in range(4)]
    errors: list[BaseException] = []

    def prepare(archive: Archive) -> None:
        try:
            archive.prepare()
        except BaseException as error:  # noqa: BLE001 - told below
            errors.append(error)

    threads = [threading.Thread(target=prepare, args=(archive,)) for archive in archives]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patient(50))
    assert errors == []
    for archive in archives:
        archive.close()


def test_opening_a_locked_new_file_waits(tmp_path: Path) -> None:
    file = tmp_path / "archive.sqlite3"
    with closing(sqlite3.connect(file, isolation_level=None, check_same_thread=False)) as other:
        other.execute("BEGIN IMMEDIATE")
        ends = threading.Timer(0.2, other.execute, ["ROLLBACK"])
        ends.start()
        database = Database(f"sqlite:///{file}")
        try:
            with database.writing() as connection:
                assert connection.exec_driver_sql("PRAGMA journal_mode").scalar() == "wal"
        finally:
            database.close()
            ends.join()

"""Connections to the database of the archive, and access rights of SQLite files.

All connections have the same pragmas, timeouts and errors. A writer locks first, on SQLite with
`BEGIN IMMEDIATE` and on PostgreSQL with a row locked `FOR UPDATE`, so no transaction fails halfway because
of a concurrent one. A SQLite file contains every dialog, so only its owner may read it.
"""

from __future__ import annotations

import os
import sqlite3
import stat
import threading
import time
from collections.abc import Iterator
from contextlib import contextmanager, suppress
from pathlib import Path
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Dialect, Engine, create_engine, event
from sqlalchemy.engine import make_url
from sqlalchemy.exc import DBAPIError, InterfaceError, OperationalError, SQLAlchemyError
from sqlalchemy.exc import TimeoutError as PoolTimeout

from ..models.errors import ArchiveError, ArchiveUnavailable, ClientClosed
from ..models.extras import Needed
from ..models.text.paths import make_private_folder

if TYPE_CHECKING:
    from sqlalchemy import Table
    from sqlalchemy.dialects import postgresql, sqlite

#: Suffixes of SQLite's side files: the write-ahead log, its index, and the rollback journal.
_SIDE_FILES = ("-wal", "-shm", "-journal")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO

#: Lock held from the creation of a database file until its descriptor is closed. Closing any descriptor of a
#: file releases all POSIX locks of this process on it, also those of a SQLite connection that another thread
#: opened.
_creating = threading.Lock()


def create_private(file: Path) -> None:
    """Create a database file that only its owner may read, before SQLite creates it with the umask's mode.

    SQLite gives its side files the mode of the database file. An existing file and its side files are made
    private; if that is not allowed because another user owns it, it stays unchanged and `find_exposed_files`
    lists it.

    Args:
        file: The database file. Links are followed, as SQLite does.

    Raises:
        OSError: The file cannot be created.
    """
    file = file.resolve()
    with _creating:
        try:
            os.close(os.open(file, os.O_RDWR | os.O_CREAT | os.O_EXCL, 0o600))
        except FileExistsError:
            _restrict(file, 0o600)
    for suffix in _SIDE_FILES:
        _restrict(file.with_name(file.name + suffix), 0o600)


def find_exposed_files(file: Path) -> list[tuple[Path, int]]:
    """Return the database file, side files and folder that other users can access, each with its mode."""
    file = file.resolve()
    paths = (file.parent, file, *(file.with_name(file.name + suffix) for suffix in _SIDE_FILES))
    modes = [(path, stat.S_IMODE(path.stat().st_mode)) for path in paths if path.exists()]
    return [(path, mode) for path, mode in modes if mode & _OTHERS]


def _restrict(path: Path, mode: int) -> None:
    # No descriptor is opened here, for the reason in `_creating`. A side file may disappear at any time.
    with suppress(OSError):
        if stat.S_IMODE(path.stat().st_mode) & _OTHERS:
            path.chmod(mode)


#: Seconds that a writer waits for another writer, and every client for an answer.
_BUSY_S = 30
_CONNECT_S = 5
#: Seconds between two attempts at an operation for which SQLite does not wait.
_RETRY_S = 0.01

#: Character that SQL databases refuse.
_NUL = "\x00"


class Database:
    """A database with lazy connections: the constructor does not connect.

    Args:
        url: `sqlite:///...` or `postgresql://...`.
        owns_folder: True: the folder of a SQLite file belongs to Symposia, so the access of other users is
            removed.

    Raises:
        ArchiveUnavailable: From `reading` and `writing`, if the database does not answer.
        ArchiveError: The database refuses a statement or value.
        ClientClosed: After `close`.
    """

    def __init__(self, url: str, *, owns_folder: bool = False) -> None:
        self.url = url
        self._owns_folder = owns_folder
        self._engine = _engine(url)
        self._is_closed = False
        if self.is_sqlite:
            event.listen(self._engine, "do_connect", self._create_private_file)

    @property
    def is_sqlite(self) -> bool:
        """True for SQLite: one file, without a server."""
        return self._engine.dialect.name == "sqlite"

    @property
    def exists(self) -> bool:
        """False for a file that does not exist yet."""
        return not self.is_sqlite or self._file.exists()

    def exposed_files(self) -> list[tuple[Path, int]]:
        """Return the files and the folder of a SQLite database that other users can access, each with its mode."""
        return find_exposed_files(self._file) if self.is_sqlite else []

    @contextmanager
    def reading(self) -> Iterator[Connection]:
        """Open a read-only transaction."""
        with self._translate_errors(), self._engine.connect() as connection, connection.begin():
            yield connection

    @contextmanager
    def writing(self) -> Iterator[Connection]:
        """Open a write transaction, which writes all changes or none."""
        if not self.exists:
            try:
                make_private_folder(self._file.parent)
            except OSError as error:
                raise ArchiveUnavailable(self.url, hint=str(error)) from error
        with self._translate_errors(), self._engine.connect() as connection:
            connection.execution_options(writes=True)
            with connection.begin():
                yield connection

    def close(self) -> None:
        """Close the connections."""
        self._is_closed = True
        self._engine.dispose()

    @property
    def _file(self) -> Path:
        return Path(self._engine.url.database or "")

    def _create_private_file(
        self, _dialect: Dialect, _record: Any, arguments: list[Any], _options: Any
    ) -> None:
        """Create the file with private access before SQLite opens it."""
        file = Path(arguments[0])
        if self._owns_folder:
            _restrict(file.parent, 0o700)
        try:
            create_private(file)
        except OSError as error:
            raise sqlite3.OperationalError(str(error)) from error

    @contextmanager
    def _translate_errors(self) -> Iterator[None]:
        if self._is_closed:
            raise ClientClosed
        try:
            yield
        except SQLAlchemyError as error:
            # Only the driver's message, because the statement and its values contain texts of sessions.
            cause = error.orig if isinstance(error, DBAPIError) else error
            if isinstance(error, OperationalError | InterfaceError | PoolTimeout):
                raise ArchiveUnavailable(self.url, hint=str(cause)) from error
            raise ArchiveError(f"the database rejected a statement: {cause}") from error


def insert_into(table: Table, dialect: str) -> sqlite.Insert | postgresql.Insert:
    """Return an insertion with `ON CONFLICT` in the dialect `sqlite` or `postgresql`; the other is not imported."""
    if dialect == "sqlite":
        from sqlalchemy.dialects.sqlite import insert as sqlite_insert

        return sqlite_insert(table)
    from sqlalchemy.dialects.postgresql import insert

    return insert(table)


def storable_text(text: str) -> str:
    """Return `text` in a form that every database can store."""
    return text.replace(_NUL, "\ufffd")


def is_storable(text: str) -> bool:
    """Return whether every database can store `text`."""
    return _NUL not in text


def _engine(url: str) -> Engine:
    parsed = make_url(url)
    if parsed.get_backend_name() == "sqlite":
        engine = create_engine(parsed, connect_args={"timeout": _BUSY_S, "check_same_thread": False})
        event.listen(engine, "connect", _prepare_sqlite)
        event.listen(engine, "begin", _begin_sqlite)
        return engine
    with Needed("an archive on PostgreSQL"):  # imports the driver
        return create_engine(
            parsed.set(drivername="postgresql+psycopg"),
            pool_pre_ping=True,
            connect_args={
                "connect_timeout": _CONNECT_S,
                "application_name": "symposia",
                "options": f"-c statement_timeout={_BUSY_S * 1000}",
            },
        )


def _prepare_sqlite(connection: sqlite3.Connection, _record: Any) -> None:
    # `_begin_sqlite` begins transactions, not the driver.
    connection.isolation_level = None
    # SQLite's own function changes ASCII letters only, so a search for "école" would not find "École".
    connection.create_function("lower", 1, _lower, deterministic=True)
    _use_wal(connection)
    for pragma in ("synchronous = FULL", "foreign_keys = ON"):
        connection.execute(f"PRAGMA {pragma}")


def _lower(value: str | None) -> str | None:
    return None if value is None else value.lower()


def _use_wal(connection: sqlite3.Connection) -> None:
    """Enable write-ahead logging; the first connection changes the file, and later ones find it enabled.

    SQLite waits for readers of the file, but fails at once while another process writes to it, because the
    two could wait for each other.
    """
    until = time.monotonic() + _BUSY_S
    while True:
        try:
            connection.execute("PRAGMA journal_mode = WAL")
        except sqlite3.OperationalError as error:
            if error.sqlite_errorcode & 0xFF != sqlite3.SQLITE_BUSY or time.monotonic() >= until:
                raise
        else:
            return
        time.sleep(_RETRY_S)


def _begin_sqlite(connection: Connection) -> None:
    writes = connection.get_execution_options().get("writes", False)
    connection.exec_driver_sql("BEGIN IMMEDIATE" if writes else "BEGIN")

"""Access rights of an archive in SQLite: it holds every dialog, so only its owner may read it."""

from __future__ import annotations

import os
import stat
import threading
from contextlib import suppress
from pathlib import Path

#: Files that SQLite keeps beside a database: the write-ahead log, its index, and the rollback journal.
_SIDE_FILES = ("-wal", "-shm", "-journal")
_OTHERS = stat.S_IRWXG | stat.S_IRWXO

#: Held from creating a database file until its descriptor is closed: closing any descriptor of a file releases all
#: POSIX locks that this process has on it, also those of a SQLite connection that another thread has just opened.
_creating = threading.Lock()


def create_private(file: Path) -> None:
    """Create a database file that only its owner may read, before SQLite creates it with the rights of the umask.

    SQLite gives its side files the rights of the database file. A file that exists is made private with its side files;
    if that is not allowed (another user owns it), it stays as it is and `exposed` names it.

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


def restrict_folder(folder: Path) -> None:
    """Remove all rights of other users in an existing folder, if that is allowed."""
    _restrict(folder, 0o700)


def find_exposed_files(file: Path) -> list[tuple[Path, int]]:
    """List the database file, side files and folder in which other users have rights, each with its mode."""
    file = file.resolve()
    paths = (file.parent, file, *(file.with_name(file.name + suffix) for suffix in _SIDE_FILES))
    modes = [(path, stat.S_IMODE(path.stat().st_mode)) for path in paths if path.exists()]
    return [(path, mode) for path, mode in modes if mode & _OTHERS]


def _restrict(path: Path, mode: int) -> None:
    # No descriptor is opened here, for the reason given at `_creating`. A side file may disappear at any time.
    with suppress(OSError):
        if stat.S_IMODE(path.stat().st_mode) & _OTHERS:
            path.chmod(mode)

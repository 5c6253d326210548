"""Sandboxed folder: a reader that never reads anything outside of the folder.

A user who can write into a folder may create links that lead out of it, and exchange them while it is read.
So each step starts from the descriptor of the parent folder and follows no link, and an opened file is
checked again before a byte of it is read. The reader never waits for a FIFO, and reads nothing of a large
file.
"""

from __future__ import annotations

import os
import stat
from collections.abc import Callable, Iterator
from contextlib import ExitStack, suppress
from io import FileIO
from itertools import islice
from pathlib import Path
from typing import NamedTuple, Self

from ...models.errors import InvalidInput
from ...models.text.paths import MAX_PATH
from ..values.runs import SkippedItem

#: Maximum depth of folders.
MAX_DEPTH = 64
#: Maximum number of names read in one folder.
MAX_NAMES = 100_000

LINK = "symbolic link, not followed"
NOT_A_FILE = "not a regular file"
OUTSIDE = "outside the root"
UNPRINTABLE = "name contains unprintable characters"
TOO_LONG = f"path longer than {MAX_PATH:,} characters"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# O_NONBLOCK and O_NOCTTY: if the file was just replaced by a FIFO or a terminal, opening neither blocks nor
# makes it the controlling terminal.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class WalkEntry(NamedTuple):
    """A name found during a walk."""

    path: str
    is_folder: bool


#: Function that returns why a name is skipped; empty: skipped without a report; None: not skipped.
SkipRule = Callable[[WalkEntry], str | None]


class SandboxedFolder:
    """Reader of files below `folder` by relative paths with `/`; close it, or use it as a context manager.

    Raises:
        InvalidInput: It is not a folder that can be opened.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            why = f"must be a readable folder: {error.strerror}"
            raise InvalidInput("root", escape_path(str(folder)), why) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Close the folder."""
        os.close(self._fd)

    def walk(self, below: str = "", *, leave_out: SkipRule) -> Iterator[str | SkippedItem]:
        """Yield the paths of regular files in a folder and its subfolders, by name.

        Other entries as skipped items.
        """
        with ExitStack() as opened:
            try:
                folder = self._folder(below, opened)
            except OSError as error:
                yield SkippedItem(path=escape_path(below), reason=_describe_error(error))
                return
            yield from _walk(folder, f"{below}/" if below else "", leave_out)

    def is_folder(self, path: str) -> bool:
        """Return whether this is a folder that `walk` would read."""
        with ExitStack() as opened, suppress(OSError):
            self._folder(path, opened)
            return True
        return False

    def exists(self, path: str) -> bool:
        """Return whether the path exists, as a file of any kind."""
        above, _, name = path.rpartition("/")
        with ExitStack() as opened, suppress(OSError):
            os.stat(name, dir_fd=self._folder(above, opened), follow_symlinks=False)
            return True
        return False

    def read(self, path: str, *, limit: int) -> bytes | SkippedItem:
        """Return the content of a regular file of at most `limit` bytes, or why it is not read."""
        if not _is_inside(path):
            return SkippedItem(path=escape_path(path), reason=OUTSIDE)
        if reason := _unreportable_reason(path):
            return SkippedItem(path=escape_path(path), reason=reason)
        above, _, name = path.rpartition("/")
        try:
            with ExitStack() as opened:
                content = _content(self._folder(above, opened), name, limit)
        except OSError as error:
            return SkippedItem(path=path, reason=_describe_error(error))
        return content if isinstance(content, bytes) else SkippedItem(path=path, reason=content)

    def _folder(self, path: str, opened: ExitStack) -> int:
        """Return a descriptor of a folder (empty path: the root), open until `opened` ends. Raises OSError."""
        folder = self._fd
        if path and not _is_inside(path):
            raise NotADirectoryError(OUTSIDE)
        for part in path.split("/") if path else ():
            folder = os.open(part, _FOLDER, dir_fd=folder)
            opened.callback(os.close, folder)
        return folder


def escape_path(path: str) -> str:
    """Return a path as text that can be sent and shown, with unprintable characters escaped."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path)
    return text if len(text) <= MAX_PATH else f"{text[: MAX_PATH - 1]}…"


def _is_inside(path: str) -> bool:
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def _unreportable_reason(path: str) -> str:
    """Return why findings about a path could not be reported."""
    if len(path) > MAX_PATH:
        return TOO_LONG
    return "" if path.isprintable() and path.strip() else UNPRINTABLE


def _walk(folder: int, prefix: str, leave_out: SkipRule) -> Iterator[str | SkippedItem]:
    """Yield entries of an open folder. `prefix` is its path, ended by `/` unless it is the root."""
    with os.scandir(folder) as entries:
        some = list(islice(entries, MAX_NAMES + 1))
    for entry in sorted(some[:MAX_NAMES], key=lambda dir_entry: dir_entry.name):
        path, is_folder = prefix + entry.name, entry.is_dir(follow_symlinks=False)
        left_out = leave_out(WalkEntry(path, is_folder))
        if left_out == "":
            continue
        if reason := left_out or _unreportable_reason(path):
            yield SkippedItem(path=escape_path(path), reason=reason)
        elif is_folder:
            yield from _walk_into(folder, entry.name, path, leave_out)
        elif entry.is_file(follow_symlinks=False):
            yield path
        else:
            yield SkippedItem(path=path, reason=LINK if entry.is_symlink() else NOT_A_FILE)
    if len(some) > MAX_NAMES:
        yield SkippedItem(path=prefix or ".", reason=f"more than {MAX_NAMES:,} names, the others are skipped")


def _walk_into(folder: int, name: str, path: str, leave_out: SkipRule) -> Iterator[str | SkippedItem]:
    if path.count("/") >= MAX_DEPTH:
        yield SkippedItem(path=path, reason=f"nested deeper than {MAX_DEPTH} folders")
        return
    try:
        inner = os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        yield SkippedItem(path=path, reason=_describe_error(error))
        return
    try:
        yield from _walk(inner, f"{path}/", leave_out)
    finally:
        os.close(inner)


def _content(folder: int, name: str, limit: int) -> bytes | str:
    """Return the bytes of a file, or why they are not read. Raises OSError."""
    # Check before opening, because opening a device may have an effect.
    reason = _skip_reason(os.stat(name, dir_fd=folder, follow_symlinks=False), limit)
    if reason:
        return reason
    with FileIO(os.open(name, _FILE, dir_fd=folder)) as file:
        reason = _skip_reason(os.fstat(file.fileno()), limit)
        if reason:
            return reason
        # A file may grow while it is read, and files of some file systems have no size.
        data = bytearray()
        while len(data) <= limit and (piece := file.read(limit + 1 - len(data))):
            data += piece
    return bytes(data) if len(data) <= limit else _too_large(limit)


def _skip_reason(status: os.stat_result, limit: int) -> str:
    if stat.S_ISLNK(status.st_mode):
        return LINK
    if not stat.S_ISREG(status.st_mode):
        return NOT_A_FILE
    return _too_large(limit) if status.st_size > limit else ""


def _too_large(limit: int) -> str:
    return f"larger than {limit:,} bytes"


def _describe_error(error: OSError) -> str:
    """Return the error for display to people."""
    match error:
        case FileNotFoundError():
            return "not found"
        case PermissionError():
            return "permission denied"
        case NotADirectoryError():
            # The error of `O_DIRECTORY` for a link.
            return "not a folder, or a symbolic link in its path"
        case _:
            return f"cannot be read: {error.strerror or type(error).__name__}"

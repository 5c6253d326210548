"""A folder that is read, and nothing outside of it.

Whoever can write into a folder may plant links that lead out of it, and exchange them while it is read. So each
step goes from the descriptor of the folder before, follows no link, and what was opened is looked at once more
before a byte of it is read. A FIFO is never waited for, and of a large file nothing is read.
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

from ..models.errors import InvalidInput
from ..models.review.findings import MAX_PATH
from ..models.review.items import Skipped

#: Folders within folders that are looked into.
MAX_DEPTH = 64
#: Names in one folder that are looked at.
MAX_NAMES = 100_000

LINK = "a symbolic link, which is not followed"
NOT_A_FILE = "not a regular file"
OUTSIDE = "outside of the root"
UNPRINTABLE = "its name has characters that are not printable"
TOO_LONG = f"its path has more than {MAX_PATH:,} characters"

_FOLDER = os.O_RDONLY | os.O_DIRECTORY | os.O_NOFOLLOW | os.O_CLOEXEC
# What became a FIFO or a terminal a moment ago is neither waited for nor taken as this process's own.
_FILE = os.O_RDONLY | os.O_NOFOLLOW | os.O_CLOEXEC | os.O_NONBLOCK | os.O_NOCTTY


class Named(NamedTuple):
    """A name that was come across on the way."""

    path: str
    is_folder: bool


#: Why something is left out; empty: it is passed over without a word; None: it is not.
LeaveOut = Callable[[Named], str | None]


class Root:
    """Reads files below `folder` by their paths relative to it, written with `/`. Close it, or use it as a context.

    Raises:
        InvalidInput: it is no folder that can be opened.
    """

    def __init__(self, folder: Path) -> None:
        try:
            self._fd = os.open(folder, os.O_RDONLY | os.O_DIRECTORY | os.O_CLOEXEC)
        except OSError as error:
            why = f"must be a folder that can be read: {error.strerror}"
            raise InvalidInput("root", visible(str(folder)), why) from None

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        self.close()

    def close(self) -> None:
        """Closes the folder."""
        os.close(self._fd)

    def walk(self, below: str = "", *, leave_out: LeaveOut) -> Iterator[str | Skipped]:
        """Paths of the regular files in a folder and its folders, by name; and what is none, with the reason."""
        with ExitStack() as opened:
            try:
                folder = self._folder(below, opened)
            except OSError as error:
                yield Skipped(path=visible(below), reason=_why(error))
                return
            yield from _walk(folder, f"{below}/" if below else "", leave_out)

    def is_folder(self, path: str) -> bool:
        """Whether this is a folder that `walk` would look into."""
        with ExitStack() as opened, suppress(OSError):
            self._folder(path, opened)
            return True
        return False

    def has(self, path: str) -> bool:
        """Whether there is anything at this path, whatever it is."""
        above, _, name = path.rpartition("/")
        with ExitStack() as opened, suppress(OSError):
            os.stat(name, dir_fd=self._folder(above, opened), follow_symlinks=False)
            return True
        return False

    def read(self, path: str, *, limit: int) -> bytes | Skipped:
        """The content of a regular file of at most `limit` bytes, or why it is not read."""
        if not _is_inside(path):
            return Skipped(path=visible(path), reason=OUTSIDE)
        if reason := _unspeakable(path):
            return Skipped(path=visible(path), reason=reason)
        above, _, name = path.rpartition("/")
        try:
            with ExitStack() as opened:
                found = _content(self._folder(above, opened), name, limit)
        except OSError as error:
            return Skipped(path=path, reason=_why(error))
        return found if isinstance(found, bytes) else Skipped(path=path, reason=found)

    def _folder(self, path: str, opened: ExitStack) -> int:
        """A descriptor of a folder, the root for an empty path; open until `opened` ends. Raises OSError."""
        folder = self._fd
        if path and not _is_inside(path):
            raise NotADirectoryError(OUTSIDE)
        for part in path.split("/") if path else ():
            folder = os.open(part, _FOLDER, dir_fd=folder)
            opened.callback(os.close, folder)
        return folder


def visible(path: str) -> str:
    """A path as text that can be carried and shown: what is not printable is escaped."""
    text = "".join(c if c.isprintable() else c.encode("unicode_escape").decode() for c in path)
    return text if len(text) <= MAX_PATH else f"{text[: MAX_PATH - 1]}…"


def _is_inside(path: str) -> bool:
    return "\0" not in path and all(part not in ("", ".", "..") for part in path.split("/"))


def _unspeakable(path: str) -> str:
    """Why findings about a path could not be reported."""
    if len(path) > MAX_PATH:
        return TOO_LONG
    return "" if path.isprintable() and path.strip() else UNPRINTABLE


def _walk(folder: int, prefix: str, leave_out: LeaveOut) -> Iterator[str | Skipped]:
    """What is in an open folder. `prefix` is its path, with a `/` behind it unless it is the root."""
    with os.scandir(folder) as entries:
        some = list(islice(entries, MAX_NAMES + 1))
    for entry in sorted(some[:MAX_NAMES], key=lambda it: it.name):
        path, is_folder = prefix + entry.name, entry.is_dir(follow_symlinks=False)
        left_out = leave_out(Named(path, is_folder))
        if left_out == "":
            continue
        if reason := left_out or _unspeakable(path):
            yield Skipped(path=visible(path), reason=reason)
        elif is_folder:
            yield from _walk_into(folder, entry.name, path, leave_out)
        elif entry.is_file(follow_symlinks=False):
            yield path
        else:
            yield Skipped(path=path, reason=LINK if entry.is_symlink() else NOT_A_FILE)
    if len(some) > MAX_NAMES:
        yield Skipped(path=prefix or ".", reason=f"more than {MAX_NAMES:,} names: the others are left out")


def _walk_into(folder: int, name: str, path: str, leave_out: LeaveOut) -> Iterator[str | Skipped]:
    if path.count("/") >= MAX_DEPTH:
        yield Skipped(path=path, reason=f"more than {MAX_DEPTH} folders deep")
        return
    try:
        inner = os.open(name, _FOLDER, dir_fd=folder)
    except OSError as error:
        yield Skipped(path=path, reason=_why(error))
        return
    try:
        yield from _walk(inner, f"{path}/", leave_out)
    finally:
        os.close(inner)


def _content(folder: int, name: str, limit: int) -> bytes | str:
    """The bytes of a file, or why they are not read. Raises OSError."""
    # Looked at before it is opened: to open a device may do something.
    reason = _objection(os.stat(name, dir_fd=folder, follow_symlinks=False), limit)
    if reason:
        return reason
    with FileIO(os.open(name, _FILE, dir_fd=folder)) as file:
        reason = _objection(os.fstat(file.fileno()), limit)
        if reason:
            return reason
        # A file may grow while it is read, and those of some file systems do not tell their size.
        data = bytearray()
        while len(data) <= limit and (piece := file.read(limit + 1 - len(data))):
            data += piece
    return bytes(data) if len(data) <= limit else _too_large(limit)


def _objection(found: os.stat_result, limit: int) -> str:
    if stat.S_ISLNK(found.st_mode):
        return LINK
    if not stat.S_ISREG(found.st_mode):
        return NOT_A_FILE
    return _too_large(limit) if found.st_size > limit else ""


def _too_large(limit: int) -> str:
    return f"larger than {limit:,} bytes"


def _why(error: OSError) -> str:
    """What went wrong on the way, for a person."""
    match error:
        case FileNotFoundError():
            return "not there"
        case PermissionError():
            return "may not be read"
        case NotADirectoryError():
            # What `O_DIRECTORY` answers to a link.
            return "not a folder, or a symbolic link on the way to it"
        case _:
            return f"cannot be read: {error.strerror or type(error).__name__}"

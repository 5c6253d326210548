"""What a file of the operator defines, in a process that runs for long: it follows changes of the file.

The registry follows the agents file and its session files. A turn takes one registry at its beginning and keeps it. A
changed file counts for the turns that begin afterwards. The code of modules is not loaded again; `symposia up --reload`
starts the workers again for that. Destinations of reports follow the deliveries file.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Mapping
from dataclasses import dataclass
from pathlib import Path
from typing import Generic, Protocol, Self, TypeVar

from ...models.errors import SymposiaError

log = logging.getLogger(__name__)

#: Minimum seconds between two checks of the files.
CHECK_EVERY_S = 1.0
#: Seconds for which a file must be unchanged: an editor may be writing it.
SETTLED_S = 0.2

#: Called with the path of each file before it is read.
OnRead = Callable[[Path], object]

#: Identity of a file's content: device, inode, size, time of change in nanoseconds; None: there is no file.
Stamp = tuple[int, int, int, int] | None


def stamp_of(path: Path) -> Stamp:
    """Return the identity of a file's content."""
    try:
        status = path.stat()
    except OSError:
        return None
    return status.st_dev, status.st_ino, status.st_size, status.st_mtime_ns


class Defined(Protocol):
    """What a file defines."""

    def changes_to(self, newer: Self) -> list[str]:
        """Return the differences of a newer one, such as `added ada`."""
        ...


T = TypeVar("T", bound=Defined)


@dataclass(frozen=True, slots=True)
class FileKind(Generic[T]):
    """A kind of files that are followed."""

    #: Name for the log, such as `agents file`.
    name: str
    #: What it defines, such as `agents`.
    content: str
    #: Error if the file is removed.
    removed: Callable[[Path], SymposiaError]
    #: Returns problems of the content.
    problems: Callable[[T], Iterable[object]]
    #: Effect of a problem, such as `the agent will fail`.
    effect: str


class FileSource(Generic[T]):
    """Source of what the newest valid version of a file defines. Safe to use from several threads.

    Args:
        path: The file, which may not exist.
        load: Loads it; its arguments are a callback, and what it replaces, if anything.
        kind: The kind of the file.
        is_reporting: Whether this process logs changes; its pool processes do not repeat them.

    Raises:
        SymposiaError: The file is wrong at the start.
    """

    def __init__(
        self,
        path: Path,
        load: Callable[[OnRead, T | None], T],
        kind: FileKind[T],
        *,
        is_reporting: bool = True,
    ) -> None:
        self._path = path
        self._load = load
        self._kind = kind
        self._is_reporting = is_reporting
        self._lock = threading.Lock()
        self._next_check = time.monotonic() + CHECK_EVERY_S
        #: Files that were read, and those of a newer version that was refused, as they were before they were read.
        self._stamps: dict[Path, Stamp] = {path: stamp_of(path)}
        self._has_file = self._stamps[path] is not None
        #: Changed files that may still be being written, and since when they are as they are (monotonic seconds).
        self._seen: tuple[Mapping[Path, Stamp], float] | None = None
        self._current = load(self._record_read, None)

    def current(self) -> T:
        """Return what is defined for the work that begins now. It reads changed files first."""
        if time.monotonic() >= self._next_check and self._lock.acquire(blocking=False):
            try:
                self._next_check = time.monotonic() + CHECK_EVERY_S
                self._check_files()
            finally:
                self._lock.release()
        return self._current

    def _record_read(self, path: Path) -> None:
        self._stamps.setdefault(path, stamp_of(path))

    def _check_files(self) -> None:
        stamps = {path: stamp_of(path) for path in self._stamps}
        if stamps == self._stamps:
            self._seen = None
        elif self._are_settled(stamps):
            self._seen = None
            self._replace(stamps)
        else:
            self._next_check = time.monotonic() + SETTLED_S

    def _are_settled(self, stamps: Mapping[Path, Stamp]) -> bool:
        """Return whether no changed file may still be being written. Clocks of file servers may differ from ours."""
        if self._seen is None or self._seen[0] != stamps:
            self._seen = stamps, time.monotonic()
        newest_s = max((stamp[3] / 1e9 for stamp in stamps.values() if stamp is not None), default=0)
        # A file that is missing may be one that an editor replaces.
        is_old = time.time() - newest_s >= SETTLED_S and None not in stamps.values()
        return is_old or time.monotonic() - self._seen[1] >= SETTLED_S

    def _replace(self, stamps: Mapping[Path, Stamp]) -> None:
        """Load the file; `stamps`: the files as they were before."""
        older, self._stamps = self._current, {self._path: stamps[self._path]}
        kind, exists = self._kind, stamps[self._path] is not None
        try:
            if self._has_file and not exists:
                raise kind.removed(self._path)
            newer = self._load(self._record_read, older)
        except Exception as error:  # noqa: BLE001 - any error keeps what is there, and no work fails
            self._stamps = {**stamps, **self._stamps}
            text = f"{kind.name} refused, keeping the {kind.content} as they were: %s"
            self._log(logging.WARNING, text, error)
            return
        self._current, self._has_file = newer, exists
        changes = ", ".join(older.changes_to(newer)) or f"no {kind.content.removesuffix('s')} changed"
        self._log(logging.INFO, f"{kind.name} read again: %s", changes)
        for problem in kind.problems(newer) if self._is_reporting else ():
            log.warning("problem in the %s, %s: %s", kind.name, kind.effect, problem)

    def _log(self, level: int, line: str, value: object) -> None:
        if self._is_reporting:
            log.log(level, line, value)

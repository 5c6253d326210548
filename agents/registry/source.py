"""The registry of a process that runs for long: it follows changes of the agents file and of its session files.

A turn takes one registry at its beginning and keeps it. A changed file counts for the turns that begin afterwards.
The code of modules is not loaded again; `symposia up --reload` starts the workers again for that.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Mapping
from pathlib import Path

from ...models.errors import RegistryError
from .registry import Registry

log = logging.getLogger(__name__)

#: Minimum seconds between two checks of the files.
CHECK_EVERY_S = 1.0
#: Seconds for which a file must be unchanged: an editor may be writing it.
SETTLED_S = 0.2

#: Called with the path of each file before it is read.
OnRead = Callable[[Path], object]
#: Loads the registry; its arguments are a callback and the registry that it replaces, if any.
LoadRegistry = Callable[[OnRead, Registry | None], Registry]

#: Identity of a file's content: device, inode, size, time of change in nanoseconds; None: there is no file.
Stamp = tuple[int, int, int, int] | None


def stamp_of(path: Path) -> Stamp:
    """Return the identity of a file's content."""
    try:
        found = path.stat()
    except OSError:
        return None
    return found.st_dev, found.st_ino, found.st_size, found.st_mtime_ns


class RegistrySource:
    """Source of the newest valid registry. Safe to use from several threads.

    Args:
        path: The agents file, which may not exist.
        load: Loads the registry.
        is_reporting: Whether this process logs changes; its pool processes do not repeat them.

    Raises:
        RegistryError: The file is wrong at the start.
    """

    def __init__(self, path: Path, load: LoadRegistry, *, is_reporting: bool = True) -> None:
        self._path = path
        self._load = load
        self._is_reporting = is_reporting
        self._lock = threading.Lock()
        self._next_check = time.monotonic() + CHECK_EVERY_S
        #: Files of the registry, and of a newer one that was refused, as they were before they were read.
        self._stamps: dict[Path, Stamp] = {path: stamp_of(path)}
        #: Changed files that may still be being written, and since when they are as they are (monotonic seconds).
        self._seen: tuple[Mapping[Path, Stamp], float] | None = None
        self._registry = load(self._record_read, None)

    def current(self) -> Registry:
        """Return the registry for the work that begins now. It reads changed files first."""
        if time.monotonic() >= self._next_check and self._lock.acquire(blocking=False):
            try:
                self._next_check = time.monotonic() + CHECK_EVERY_S
                self._check_files()
            finally:
                self._lock.release()
        return self._registry

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
        """Load the registry; `stamps`: the files as they were before."""
        older, self._stamps = self._registry, {self._path: stamps[self._path]}
        try:
            if older.path and stamps[self._path] is None:
                raise RegistryError(str(self._path), entry="", field="", rule="was removed")
            newer = self._load(self._record_read, older)
        except Exception as error:  # noqa: BLE001 - any error keeps the agents, and no turn fails
            self._stamps = {**stamps, **self._stamps}
            self._log(logging.WARNING, "agents file refused, keeping the agents as they were: %s", error)
            return
        self._registry = newer
        changes = ", ".join(older.changes_to(newer)) or "no agent changed"
        self._log(logging.INFO, "agents file read again: %s", changes)
        for problem in newer.check() if self._is_reporting else ():
            log.warning("problem in the agents file, the agent will fail: %s", problem)

    def _log(self, level: int, line: str, value: object) -> None:
        if self._is_reporting:
            log.log(level, line, value)

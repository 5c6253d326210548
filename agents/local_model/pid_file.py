"""Pid file, by which other processes of this user find a server on this machine.

It contains the server's URL and process id; only its owner can read it.
"""

from __future__ import annotations

import json
import os
from dataclasses import asdict, dataclass
from pathlib import Path

from ...models.text.paths import make_private_folder


@dataclass(frozen=True, slots=True)
class PidRecord:
    """Content of a pid file."""

    url: str
    pid: int

    def is_alive(self) -> bool:
        """Return whether a process has this id; it may be another process by now, so check the URL, too."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


class PidFile:
    """The pid file at `path`; its folder is created at the first write."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, record: PidRecord) -> None:
        """Replace the file atomically: a reader sees the old record or the new one."""
        make_private_folder(self.path.parent)
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(asdict(record), file)
        draft.replace(self.path)

    def read(self) -> PidRecord | None:
        """Return the record if its process is alive; None: no record, no process, or an invalid file."""
        try:
            data = json.loads(self.path.read_text())
            record = PidRecord(url=str(data["url"]), pid=int(data["pid"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return record if record.pid > 0 and record.is_alive() else None

    def remove(self, *, pid: int) -> None:
        """Remove the file if it records the process `pid`, not a later one."""
        try:
            mine = json.loads(self.path.read_text())["pid"] == pid
        except (OSError, ValueError, TypeError, KeyError):
            return
        if mine:
            self.path.unlink(missing_ok=True)

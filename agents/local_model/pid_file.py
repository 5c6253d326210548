"""Pid file: lets other processes of this user find a server that runs here.

It holds the server's URL and process id, and is readable by its owner only.
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
        """Whether a process of this id exists; it may be another one by now, so ask the URL, too."""
        try:
            os.kill(self.pid, 0)
        except ProcessLookupError:
            return False
        except PermissionError:
            return True
        return True


class PidFile:
    """A run file at `path`, whose folder is made when it is first written."""

    def __init__(self, path: Path) -> None:
        self.path = path

    def write(self, record: PidRecord) -> None:
        """Replace the file in one step: a reader sees the old record or the new one."""
        make_private_folder(self.path.parent)
        draft = self.path.with_name(f"{self.path.name}.{os.getpid()}")
        draft.unlink(missing_ok=True)
        with os.fdopen(os.open(draft, os.O_WRONLY | os.O_CREAT | os.O_EXCL, 0o600), "w") as file:
            json.dump(asdict(record), file)
        draft.replace(self.path)

    def read(self) -> PidRecord | None:
        """The record of a process that is alive; None where there is none, or the file makes no sense."""
        try:
            data = json.loads(self.path.read_text())
            record = PidRecord(url=str(data["url"]), pid=int(data["pid"]))
        except (OSError, ValueError, TypeError, KeyError):
            return None
        return record if record.pid > 0 and record.is_alive() else None

    def remove(self, *, pid: int) -> None:
        """Remove the file if it is about the process `pid`, and not about a later one."""
        try:
            mine = json.loads(self.path.read_text())["pid"] == pid
        except (OSError, ValueError, TypeError, KeyError):
            return
        if mine:
            self.path.unlink(missing_ok=True)

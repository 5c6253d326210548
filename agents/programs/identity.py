"""Identity of a program: changes when another program, or another version of it, would run."""

from __future__ import annotations

import hashlib
import json
import shutil
from pathlib import Path

from .agent import CommandEntry


def program_identity(entry: CommandEntry) -> str:
    """Return a hash of the entry and of the files that its arguments name, by their sizes and times of change.

    The programs are not run: many have no option that prints a version, and some take seconds.
    """
    files = [found for it in entry.argv if (found := _describe_file(it))]
    content = [entry.model_dump(mode="json"), files]
    return hashlib.sha256(json.dumps(content, sort_keys=True).encode()).hexdigest()[:32]


def _describe_file(argument: str) -> str:
    """Return size and time of the file that an argument names, by its path or as a command; empty: none."""
    place = argument if Path(argument).is_absolute() else shutil.which(argument)
    if place is None or not Path(place).is_file():
        return ""
    found = Path(place).stat()
    return f"{found.st_size} {found.st_mtime_ns}"

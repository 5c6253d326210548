"""Scope of a review: which files, read by which agents, are known to be reviewed at its revision."""

from __future__ import annotations

import hashlib
import json

from .sources.files import FileSelection
from .values.panels import Panel


def scope_of(selection: FileSelection, panel: Panel, *, branch: str) -> str:
    """Return the scope of a review as 32 hexadecimal digits. The revision `selection.since` is not part of it.

    A review since the last one continues only a run of the same scope: a run of another scope may have left out
    files or agents, or reviewed another branch.
    """
    parts = [
        *(sorted(it) for it in (selection.paths, selection.include, selection.exclude, panel.agents)),
        *(selection.base, branch),
    ]
    return hashlib.sha256(json.dumps(parts).encode()).hexdigest()[:32]

"""Parser of changed lines in a diff without context, as from `git diff --unified=0`.

Source: git-diff(1), "Generating patch text with -p"; git-config(1), core.quotePath, for the names.

unidiff is not used: its version 1.0 keeps every line (six times the memory), leaves quoted names quoted, and raises an
error for text that is not a diff.
"""

from __future__ import annotations

import os
import re
from collections.abc import Iterator

_HUNK = re.compile(rb"@@ -\d+(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_NEW_NAME = b"+++ b/"
_NEW_NAME_QUOTED = b'+++ "b/'


def changed_lines(diff: bytes) -> dict[str, tuple[tuple[int, int], ...]]:
    """Return for each remaining file the ranges of new or changed lines, from 1, both ends included.

    If lines were only removed, it is the line before them (or the first).
    """
    found: dict[str, list[tuple[int, int]]] = {}
    name = ""
    for line in _git_lines(diff):
        if line.startswith(b"diff --git "):
            name = ""
        elif line.startswith((_NEW_NAME, _NEW_NAME_QUOTED)):
            name = _name(line)
            found.setdefault(name, [])
        elif name and (hunk := _HUNK.match(line)):
            start, count = int(hunk[2]), int(hunk[3] or 1)
            found[name].append((max(start, 1), max(start + count - 1, start, 1)))
    return {name: tuple(ranges) for name, ranges in found.items()}


def _git_lines(diff: bytes) -> Iterator[bytes]:
    """Yield the lines that git wrote itself, without the lines of the texts, which may look the same."""
    left = 0
    for line in diff.split(b"\n"):
        if left and line[:1] in (b"+", b"-"):
            left -= 1
            continue
        if hunk := _HUNK.match(line):
            left = int(hunk[1] or 1) + int(hunk[3] or 1)
        yield line


def _name(line: bytes) -> str:
    if line.startswith(_NEW_NAME):
        # A tab ends a name that contains a blank.
        return os.fsdecode(line.removeprefix(_NEW_NAME).removesuffix(b"\t"))
    quoted = line.removeprefix(_NEW_NAME_QUOTED).rstrip(b"\t").removesuffix(b'"')
    # All non-ASCII bytes are written as octal numbers, so the escapes of C and Python are the same here.
    return os.fsdecode(quoted.decode("unicode_escape").encode("latin-1"))

"""Parser of a diff without context, as from `git diff --unified=0`: the changed lines of each file. Pure.

Source: git-diff(1), "Generating patch text with -p"; git-config(1), core.quotePath, for the names. unidiff is not used:
its version 1.0 keeps every line (six times the memory), leaves quoted names quoted, and raises an error for text that is
not a diff.
"""

from __future__ import annotations

import os
import re

from ..values.changes import MAX_REMOVED_BYTES, Hunk

_HUNK = re.compile(rb"@@ -(\d+)(?:,(\d+))? \+(\d+)(?:,(\d+))? @@")
_OLD_NAMES = (b"--- a/", b'--- "a/')
_NEW_NAMES = (b"+++ b/", b'+++ "b/')
_NO_NAME = b"+++ /dev/null"


def read_hunks(diff: bytes) -> dict[str, tuple[Hunk, ...]]:
    """Return the hunks of each file by its name, of a deleted file by its last name.

    Of the removed lines of a file, at most `MAX_REMOVED_BYTES` are kept.
    """
    hunks_by_name: dict[str, list[Hunk]] = {}
    old_name = name = ""
    lines, room = iter(diff.split(b"\n")), 0
    for line in lines:
        if line.startswith(b"diff --git "):
            old_name = name = ""
        elif line.startswith(_OLD_NAMES):
            old_name = _name(line)
        elif line.startswith(_NEW_NAMES) or (line == _NO_NAME and old_name):
            name = old_name if line == _NO_NAME else _name(line)
            hunks_by_name.setdefault(name, [])
            room = MAX_REMOVED_BYTES
        elif match := _HUNK.match(line):
            old_count, new_count = (int(match[group] or 1) for group in (2, 4))
            removed: list[str] = []
            left = old_count + new_count
            while left and (text := next(lines, None)) is not None:
                if text[:1] == b"-" and room > 0:
                    room -= len(text)
                    removed.append(text[1:].decode(errors="replace"))
                left -= text[:1] in (b"-", b"+")
            if name:
                hunks_by_name[name].append(
                    Hunk(
                        old_start=int(match[1]) + (old_count == 0),
                        old_count=old_count,
                        removed=tuple(removed),
                        new_start=int(match[3]) + (new_count == 0),
                        new_count=new_count,
                    )
                )
    return {name: tuple(hunks) for name, hunks in hunks_by_name.items()}


def _name(line: bytes) -> str:
    bare = line[4:]
    if not bare.startswith(b'"'):
        # A tab ends a name that contains a blank.
        return os.fsdecode(bare[2:].removesuffix(b"\t"))
    quoted = bare[3:].rstrip(b"\t").removesuffix(b'"')
    # All non-ASCII bytes are written as octal numbers, so the escapes of C and Python are the same here.
    return os.fsdecode(quoted.decode("unicode_escape").encode("latin-1"))

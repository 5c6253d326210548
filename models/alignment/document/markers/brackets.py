"""Brackets of a line that may be markers: those that a marker's word follows, and where each is closed.

Everything here is one pass over the line, however deep its brackets are nested.
"""

from __future__ import annotations

from array import array

from ..text.line_text import PICTORIAL, HiddenSpans
from ..text.vocabulary import MARKER_WORDS, NEAR_WORDS

#: Beginnings of the marker words, in all accepted spellings.
_STEMS = tuple(
    spelled
    for stem in ("PERSPECTIVE", "TENSION", "REFINE", "CONCE", "RESOL")
    for spelled in (stem, stem.capitalize(), stem.lower())
)
_LONGEST_WORD = max(map(len, (*MARKER_WORDS, *NEAR_WORDS)))
#: Backslashes before a bracket that are counted.
_MOST_SLASHES = 500


def openers_of(line: str) -> dict[int, tuple[str, int]]:
    """Return columns of brackets that a marker's word follows, with that word and where it ends, from the left."""
    openers = {}
    for stem in _STEMS:
        at = line.find(stem)
        while at >= 0:
            start = at - 1
            while start >= 0 and (line[start] in "*_" or line[start] in PICTORIAL):
                start -= 1
            end = at + len(stem)
            while end - at <= _LONGEST_WORD and line[end : end + 1].isalpha():
                end += 1
            word = line[at:end].upper()
            if start >= 0 and line[start] == "[" and (word in MARKER_WORDS or word in NEAR_WORDS):
                openers[start] = (word, end)
            at = line.find(stem, end)
    return dict(sorted(openers.items()))


def closers_of(line: str, openers: dict[int, tuple[str, int]], hidden: HiddenSpans) -> dict[int, int]:
    """Return the closing bracket of each opener, in one pass with a stack."""
    closers: dict[int, int] = {}
    stack = array("q")
    first, escapes = min(openers), "\\" in line
    for at in [i for i, c in enumerate(line[first:], first) if c == "[" or c == "]"]:
        if (escapes and _escaped(line, at)) or (hidden and at in hidden):
            continue
        if line[at] == "[":
            stack.append(at)
        elif stack and (start := stack.pop()) in openers:
            closers[start] = at
    return closers


def _escaped(line: str, at: int) -> bool:
    if line[at - 1 : at] != "\\":
        return False
    before = line[:at] if at < _MOST_SLASHES else line[at - _MOST_SLASHES : at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1

"""The brackets of markers: where each opens and closes, and the ids in its head, before the colon.

Brackets are found in one pass over the line, however deep they are nested.

Source: RFC 0028, "Tolerance Policy".
"""

from __future__ import annotations

from array import array

from ...models.alignment.marker_refs import MarkerRef, ParsedRefs, read_refs
from ...models.alignment.vocabulary import (
    DASHES,
    FILLERS,
    FORMS,
    ID_LETTERS,
    MARKER_WORDS,
    NEAR_WORDS,
    NUMBER_LETTERS,
    NUMBERED,
    OWN_LETTERS,
    MarkerType,
)
from .text import PICTORIAL, HiddenSpans, to_ascii_width

#: Beginnings of the marker words, in all accepted spellings.
_STEMS = tuple(
    spelled
    for stem in ("PERSPECTIVE", "TENSION", "REFINE", "CONCE", "RESOL")
    for spelled in (stem, stem.capitalize(), stem.lower())
)
_MAX_WORD = max(map(len, (*MARKER_WORDS, *NEAR_WORDS)))
#: Backslashes before a bracket that are counted.
_MAX_SLASHES = 500


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
            while end - at <= _MAX_WORD and line[end : end + 1].isalpha():
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
    before = line[:at] if at < _MAX_SLASHES else line[at - _MAX_SLASHES : at]
    return (len(before) - len(before.rstrip("\\"))) % 2 == 1


_DECORATION = "*_"
#: Separators between ids and label, besides a colon and a dash.
_PARTING = " ;,.|→>"
#: Quotes that may enclose the ids, each with its closing quote.
_QUOTES = {'"': '"', "'": "'", "“": "”", "‘": "’", "„": "“", "«": "»"}
#: Markers that give an id its meaning: in these, ids among words are those of other markers.
_DECLARING = frozenset({MarkerType.PERSPECTIVE, MarkerType.TENSION})
#: Words that may begin a marker without a colon: `[CONCESSION to Strudel on T01]`.
_LEADING = FILLERS | {"FROM", "BY"}


def read_head(
    head: str, kind: MarkerType, *, loud: bool, alone: bool = False
) -> tuple[tuple[MarkerRef, ...], int, str] | None:
    """Return ids, where the label begins, and the ids as spelled; None: a placeholder, or just words.

    `loud`: the marker's word is in capitals. `alone`: the marker has its line for itself.
    """
    text = head.lstrip(" \t" + _DECORATION)
    at = len(head) - len(text)
    if not text or text[0] == ":":
        refs = _read(text[1:].lstrip(), kind, strict=True)
        return None if refs.placeholder else ((), at + len(text[:1]), "")
    lead = len(text) - len(text.lstrip(DASHES + " "))
    counted = loud or ":" in text
    text = text[:lead] + _without_quotes(text[lead:], kind)
    refs = _read(text[lead:], kind, strict=False, number=NUMBER_LETTERS[kind] if counted else "")
    if refs.placeholder:
        return None
    if refs.found:
        rest = at + lead + refs.end
        return refs.found, rest + _separator(text[lead + refs.end :]), text[lead:][: refs.end].strip()
    if lead:
        return (), at + lead, ""
    before_colon, colon, _ = text.partition(":")
    if colon:
        return (
            None
            if before_colon.strip().upper() in FORMS
            else (_refs_among(before_colon, kind, last=True), at, "")
        )
    if not (loud or alone) or not _is_about_others(text, kind):
        return None
    among = _refs_among(text, kind, last=False)
    # `[CONCESSION to Strudel]` needs no id.
    return (among, at, "") if among or (loud and kind not in NUMBERED) else None


def _is_about_others(text: str, kind: MarkerType) -> bool:
    """Return True for words that make a marker without a colon: `to Strudel on T01`."""
    words = text.split()
    return (
        kind not in _DECLARING
        and words[0].upper() in _LEADING
        and not any(is_placeholder(word, kind) for word in words)
    )


def _refs_among(text: str, kind: MarkerType, *, last: bool) -> tuple[MarkerRef, ...]:
    """Return the first ids after other words: `to Strudel on T01`. `last`: nothing may follow them."""
    for at in (at + 1 for at, c in enumerate(text) if c == " "):
        refs = _read(text[at:], kind, strict=True)
        if refs.found and not (last and text[at + refs.end :].strip()):
            return refs.found
    return ()


def _without_quotes(text: str, kind: MarkerType) -> str:
    """Replace the quotes around ids by spaces (`"T01": x`); every character keeps its place."""
    closing = _QUOTES.get(text[:1])
    end = text.find(closing, 1) if closing else -1
    if end < 0:
        return text
    ids = _read(text[1:end], kind, strict=True)
    return f" {text[1:end]} {text[end + 1 :]}" if ids.found and ids.end == end - 1 else text


def letters_of(kind: MarkerType) -> str:
    """Return the letters that begin an id in a marker of this kind."""
    return ID_LETTERS + OWN_LETTERS.get(kind, "")


def _read(text: str, kind: MarkerType, *, strict: bool, number: str = "") -> ParsedRefs:
    return read_refs(text, letters=letters_of(kind), strict=strict, number=number)


def is_placeholder(text: str, kind: MarkerType) -> bool:
    """Return whether a placeholder is in the place of an id: `Tnn`."""
    return _read(to_ascii_width(text), kind, strict=True).placeholder


def _separator(rest: str) -> int:
    """Return the length of the separator between ids and label: a colon, or a dash."""
    text = rest.lstrip(" )*_`")
    label = text[1:] if text.startswith(":") else text.lstrip(DASHES + _PARTING)
    return len(rest) - len(label)


def ids_after_the_colon(label: str, kind: MarkerType) -> tuple[tuple[MarkerRef, ...], str, str]:
    """Return ids in the place of the label: `[CONCESSION: T01]`, `[RESOLVED: T01 — because]`.

    Where a marker needs no id, only a label of nothing but ids is one: `T01 — because` may be a sentence's beginning.
    """
    refs = _read(to_ascii_width(label), kind, strict=True)
    rest = label[refs.end :].lstrip()
    parted = rest[:1] in (":", "–", "—") or rest.startswith(("--", "- "))
    if kind in NUMBERED:
        spelled = not rest or parted
    else:
        spelled = not rest and all(ref.agent is None for ref in refs.found)
    if not refs.found or not spelled:
        return (), label, ""
    return refs.found, rest[_separator(rest) :].strip(), label[: refs.end].strip()

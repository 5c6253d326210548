"""One id of a marker: `T01`, `T1-M`, and sub-ids such as `T1.1`, `T04-R1`, `T1a`, `T-NEW`.

Source: RFC 0028, "Tolerance Policy".
"""

from __future__ import annotations

from typing import NamedTuple

from .vocabulary import ID_LETTERS, JOINERS

_MAX_DIGITS = 6
#: Between the letter and the digits of an id: `T-1`, `T#1`, `T 1`.
_GAPS = "-#._ "
_WHITE = " \t"
#: Letters that replace a number that is not yet known: `T1X`, `T-NN`.
_UNKNOWN = frozenset("NXnx")
#: A word that is part of an id in any case.
_NEW = "NEW"
_MAX_WORD, _MAX_PARTS, _MAX_INITIALS = 20, 4, 2
_DASHES_AFTER = ("- ", "– ", "— ", "--")
_WORDS_AFTER = ("and ", "or ", "AND ", "OR ")
_MAX_IN_A_RANGE = 99


class MarkerId(NamedTuple):
    """A normalised id, and where it ends in its text."""

    id: str
    end: int


def read_marker_id(text: str, at: int, letters: str) -> MarkerId | None:
    """Return the id that `text` has at `at`, of a kind that one of `letters` begins."""
    letter = text[at : at + 1]
    if not letter or letter.upper() not in letters:
        return None
    gap = 1 if text[at + 1 : at + 2] and text[at + 1] in _GAPS else 0
    digits = read_digits(text, at + 1 + gap)
    if not digits:
        return _named(text, at)
    number = at + 1 + gap + len(digits)
    end = _sub_id(text, number, letter)
    if text[end : end + 1].isalnum():
        return None
    return MarkerId(normal_id(letter, digits) + _suffix(text[number:end]), end)


def normal_id(letter: str, digits: str) -> str:
    """Return the normalised id: `p`, `1` -> `P01`. Four digits (a round and a number) stay unchanged."""
    return letter.upper() + (digits if len(digits) > 3 else f"{int(digits):02}")


def read_digits(text: str, at: int) -> str:
    """Return the digits that `text` has at `at`; none if there are too many for an id."""
    end = at
    while end - at <= _MAX_DIGITS and text[end : end + 1] and text[end] in "0123456789":
        end += 1
    return text[at:end] if end - at <= _MAX_DIGITS else ""


def base_id(name: str) -> str:
    """Return an id without what makes it a sub-id: `T01-M` and `T01.1` are of `T01`; `T-NEW` is its own."""
    digits = read_digits(name, 1)
    return name[:1] + digits if digits else name


def ids_between(first: str, last: str) -> tuple[str, ...]:
    """Return the ids after `first` up to `last`; none if they are not of one kind or far apart."""
    a, b = first[1:], last[1:]
    whole, _, part = a.rpartition(".")
    if whole and b.rpartition(".")[0] == whole:
        a, b = part, b.rpartition(".")[2]
    if first[0] != last[0] or not (a.isdecimal() and b.isdecimal()):
        return ()
    low, high = int(a), int(b)
    if not 0 < high - low <= _MAX_IN_A_RANGE:
        return ()
    numbers = range(low + 1, high + 1)
    return tuple(f"{first[0]}{whole}.{n}" if whole else normal_id(first[0], str(n)) for n in numbers)


def _suffix(text: str) -> str:
    """Return the spelling of a sub-id; a letter directly after the digits keeps its case."""
    return text[:1] + text[1:].upper() if text[:1].isalpha() else text.upper()


def _named(text: str, at: int) -> MarkerId | None:
    """Read `T-NEW`, `P-NEW-2`: a word replaces the number."""
    if text[at + 1 : at + 2] != "-":
        return None
    word = _word(text, at + 2)
    end = at + 2 + len(word)
    new = word.upper() == _NEW
    is_known = new or (word.isupper() and text[at].upper() in ID_LETTERS and not _UNKNOWN.issuperset(word))
    if not is_known or len(word) > _MAX_WORD:
        return None
    if digits := read_digits(text, end + 1) if text[end : end + 1] == "-" else "":
        end += 1 + len(digits)
    return MarkerId(text[at:end].upper(), end) if _ends(text, end) else None


def _sub_id(text: str, at: int, letter: str) -> int:
    """Return the end of the sub-id after the digits at `at`; `at` if there is none."""
    end = at
    for _ in range(_MAX_PARTS):
        here = text[end : end + 1]
        if here == "." and (digits := read_digits(text, end + 1)):
            after = end + 1 + len(digits)
        elif here == "-":
            after = _dashed(text, end, letter, first=end == at)
        elif here.isalpha() and end == at and here not in _UNKNOWN:
            after = end + 1
        else:
            break
        if after == end or text[after : after + 1].isalnum():
            break
        end = after
    return end


def _dashed(text: str, at: int, letter: str, *, first: bool) -> int:
    """Return the end of `-M`, `-R1` or `-NEW`.

    Return `at` if the text is not part of an id: a range (`T1-T3`), a label (`T01-API design`).
    """
    word = _word(text, at + 1)
    end = at + 1 + len(word)
    if not first and word.isdecimal():
        return end
    if not word[:1].isalpha() or len(word) > _MAX_WORD:
        return at
    if word[1:].isdecimal() and word[0].upper() in ID_LETTERS + letter.upper():
        return at
    if word.upper() == _NEW:
        return end
    numbered = not word.isalpha()
    if word.isupper():
        return end if len(word) <= _MAX_INITIALS or numbered or _ends(text, end) else at
    return end if (len(word) == 1 or numbered) and _ends(text, end) else at


def _word(text: str, at: int) -> str:
    end = at
    while end - at <= _MAX_WORD and text[end : end + 1].isalnum():
        end += 1
    return text[at:end]


def _ends(text: str, at: int) -> bool:
    """Return whether the ids may end at `at` or another id follows; a space alone does not separate a label."""
    rest = text[at : at + 8].lstrip(_WHITE)
    if not rest or rest[0] in ":)]*_`\"'" or rest[0] in JOINERS:
        return True
    return rest.startswith((*_DASHES_AFTER, *_WORDS_AFTER))

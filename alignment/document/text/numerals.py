"""Numbers as people write them after a word: `2`, `#2`, `No. 2`, `II`, `two`, `②`, `2b`."""

from __future__ import annotations

from typing import NamedTuple
from unicodedata import numeric

from ....models.alignment.vocabulary import NUMBER_WORDS, ROMAN

_MOST_DIGITS = 6
_LEAD = " #-_:([.№"
_NUMBER = frozenset({"no", "nr", "num", "number", "nº", "n°"})
#: Characters that make a keycap of a digit.
_KEYCAP = "\ufe0f\u20e3"


class Number(NamedTuple):
    """A number, how it was spelled, and what follows it. `suffixed`: a letter follows its digits, as in `2b`."""

    number: int
    spelled: str
    rest: str
    suffixed: bool = False


def read_number(text: str) -> Number | None:
    """Return the number that `text` begins with; None for a fraction, a count (` - 3 things`) or other text."""
    bare = text.lstrip(_LEAD)
    lead = text[: len(text) - len(bare)]
    if lead.strip() == "-" and lead != "-":
        return None
    word = bare.partition(" ")[0]
    if word.casefold().rstrip(".") in _NUMBER:
        bare = bare[len(word) :].lstrip(_LEAD)
    found = _digits(bare) or _letters(bare)
    if found is not None and ("(" in lead or "[" in lead) and found.rest[:1] in (")", "]"):
        return found._replace(rest=found.rest[1:].strip())
    return found


def _digits(text: str) -> Number | None:
    digits = text[: len(text) - len(text.lstrip("0123456789"))]
    if not digits:
        return _circled(text)
    rest = text[len(digits) :].lstrip(_KEYCAP)
    if len(digits) > _MOST_DIGITS or (rest[:1] == "." and rest[1:2].isdecimal()):
        return None
    if not rest[:1].isalnum() and rest[:1] != "_":
        return Number(int(digits), digits, rest.strip())
    if rest[0].isalpha() and not rest[1:2].isalnum():
        return Number(int(digits), digits + rest[0], rest[1:].strip(), suffixed=True)
    return None


def _circled(text: str) -> Number | None:
    """Read `①`, `❷`."""
    value = numeric(text[0], -1.0) if text and (text[0].isdigit() or not text[0].isalpha()) else -1.0
    return Number(int(value), text[0], text[1:].strip()) if value >= 0 and value == int(value) else None


def _letters(text: str) -> Number | None:
    """Read `II`, `two`."""
    word = text[: next((i for i, c in enumerate(text) if not c.isalpha()), len(text))]
    number = NUMBER_WORDS.get(word.casefold(), ROMAN.get(word))
    ordinal = word.casefold().endswith(("st", "nd", "rd", "th"))
    return None if number is None or ordinal else Number(number, word, text[len(word) :].strip())

"""Headings of rounds in all accepted spellings: `Round 1: X`, `ROUND II — X`, `2) Second Round`, `Final Round (3)`.

Source: RFC 0028, "Core Type" and "Tolerance Policy".
"""

from __future__ import annotations

from functools import lru_cache

from ....models.alignment.vocabulary import (
    DASHES,
    DIALOGUE_WORDS,
    FIRST_ROUNDS,
    JUDGE,
    LATER_ROUNDS,
    NUMBER_WORDS,
    ROUND_OUTCOME_WORDS,
    ROUND_SUMMARY_WORDS,
    ROUND_VERBS,
    SECTION_WORDS,
)
from ..text.line_text import PICTORIAL, plain, split_emoji
from ..text.numerals import read_number
from .headings import SECTION, TURN, Heading, RoundHeading, read_judge, without_markup

_ROUND = "round"
#: Separators between a round's number and its label, besides a colon.
PARTING = DASHES + ".,;|·•→>)] "
#: Separators before a second number, which make a heading one about several rounds: `Round 1-2`, `Round 1 & 2`.
_SEVERAL = ("&", "+", ",", "and ", "to ", *DASHES)
MOST_ROUNDS = 99
#: Separators before the total number of rounds: `Round 2 of 3`.
_TOTALS = ("/", "of ")
#: Words that make `X (Round N)` a heading about a round.
_NO_LABEL = ROUND_SUMMARY_WORDS | ROUND_OUTCOME_WORDS | SECTION_WORDS | {JUDGE.casefold()}
_PICTORIAL = "".join(PICTORIAL)
#: Emoji that may precede a heading; the digit of a keycap is not one.
_FRONT = "".join(PICTORIAL - {"#", "*"})


def round_of(heading: Heading, *, last: int | None) -> RoundHeading | None:
    """Return the round that a heading begins, where `last` is the number of the round before it, if any."""
    found = read_round(heading)
    if found is None and (label := read_last_round(heading)):
        return RoundHeading(1 if last is None else last + 1, label)
    return found


@lru_cache(maxsize=4096)
def read_round(heading: Heading) -> RoundHeading | None:
    """Return the round that a heading begins, when the heading has a number, a numeral or a word for it."""
    if heading.level > TURN + 1:
        return None
    text = heading.text
    if text.startswith("Round ") and (canonical := _canonical(text)):
        return canonical
    text = strip_decoration(text)
    word, rest = first_word(text)
    if word == _ROUND:
        return _counted(rest, heading.level)
    if found := _ordinal(text, heading.level):
        return found
    if heading.level > SECTION:
        return None
    if word == "r" and (found := _counted(rest, heading.level)) and _is_short(rest):
        return found
    return None if read_judge(heading) else _named(text) or _round_at_the_end(text)


@lru_cache(maxsize=4096)
def read_last_round(heading: Heading) -> str | None:
    """Return the label of a round that has no number but follows those before it: `Final Round: The vote`."""
    name, rest = split_last_round(heading)
    label = _label(rest, SECTION) if name else None
    return None if label is None else with_round_name(name, label)


def split_last_round(heading: Heading) -> tuple[str, str]:
    """Return `Final Round` and the text after it; two empty texts for a heading that begins differently."""
    words = strip_decoration(heading.text).split(" ", 2)
    if heading.level > SECTION or len(words) < 2 or words[0].casefold() not in LATER_ROUNDS:
        return "", ""
    if words[1].casefold().rstrip(":") != _ROUND:
        return "", ""
    return f"{words[0]} {words[1].rstrip(':')}", words[2] if len(words) > 2 else ""


def is_plain_round(heading: Heading) -> bool:
    """Return True for `Round N` and `Round N: Label`, which begin a round without another sign."""
    return heading.text.startswith("Round ") and _canonical(heading.text) is not None


def _canonical(text: str) -> RoundHeading | None:
    number, _, label = text[len(_ROUND) + 1 :].partition(":")
    if not (number.isascii() and number.isdecimal()) or len(number) > 6:
        return None
    return RoundHeading(int(number), label.strip())


def strip_decoration(text: str) -> str:
    """Return `text` without markup, decoration, leading emoji and leading list number."""
    text = plain(without_markup(text)).lstrip(_FRONT).lstrip("*_ ")
    number, _, rest = text.partition(" ")
    listed = number[-1:] in (".", ")") and number[:-1].replace(".", "").isdecimal()
    text = rest.lstrip() if listed or number.casefold() in ("the", "§") else text
    return text.replace("**", "").replace("__", "")


def first_word(text: str) -> tuple[str, str]:
    """Return the letters that `text` begins with, in lower case, and the rest."""
    end = next((i for i, c in enumerate(text) if not c.isalpha()), len(text))
    return text[:end].casefold(), text[end:]


def _counted(rest: str, level: int) -> RoundHeading | None:
    """Return the round of what follows the word `Round`."""
    found = read_number(rest)
    if found is None or names_several_rounds(found.rest):
        return None
    label = _label(found.rest, level)
    counts = found.number > MOST_ROUNDS and label and label == found.rest  # `Round 2024 budget`
    return (
        None
        if label is None or counts
        else RoundHeading(found.number, with_round_name(found.spelled, label) if found.suffixed else label)
    )


def names_several_rounds(rest: str) -> bool:
    """Return whether a second number follows the first: `1-2`, `1 & 2`."""
    text = rest.lstrip()
    for mark in _SEVERAL:
        if text.startswith(mark):
            second = read_number(text[len(mark) :])
            return (
                second is not None and second.number <= MOST_ROUNDS and second.rest[:1] in ("", ":", *DASHES)
            )
    return False


def _label(rest: str, level: int) -> str | None:
    """Return the label after `Round N`; None when the heading is about a round that already began."""
    rest = rest.strip()
    if rest.lstrip("([").startswith(_TOTALS):
        without_sum = without_total(rest)
        return rest if without_sum == rest else _label(without_sum, level)
    if rest.startswith(("'s ", "’s ")):
        return None
    if not rest or rest[0] == ":":
        return rest[1:].strip()
    label = rest.lstrip(_PICTORIAL).lstrip(PARTING)
    label = label[1:].strip() if label[:1] == ":" else label
    if label.startswith("(") and label.endswith(")") and "(" not in label[1:]:
        label = label[1:-1].strip()
    words = split_emoji(label)[0].casefold().split()
    separated = label != rest
    about = bool(words) and (
        words[0] in ROUND_SUMMARY_WORDS
        or words[0] == JUDGE.casefold()
        or (not separated and words[0] in ROUND_VERBS)
    )
    return None if about or not (separated or level <= SECTION) else label


def without_total(rest: str) -> str:
    """Return what follows `Round 2`, without `of 3` or `/3`."""
    bare = rest.lstrip("([ ")
    if not bare.startswith(_TOTALS):
        return rest
    counted = read_number(bare.removeprefix("of").lstrip("/ "))
    return counted.rest.lstrip(")]") if counted else rest


def _is_short(rest: str) -> bool:
    """Return True for `R2` alone and for `R2: X`; `R2 is a robot` is a sentence."""
    found = read_number(rest)
    return rest[:1].isdecimal() and found is not None and (not found.rest or found.rest[0] in (":", *DASHES))


def _ordinal(text: str, level: int) -> RoundHeading | None:
    """Read `First Round: X`, `2nd Round`."""
    found = read_ordinal(text)
    said = _label(found[1], level) if found else None
    return None if found is None or said is None else RoundHeading(found[0], said)


def read_ordinal(text: str) -> tuple[int, str] | None:
    """Return the number of `First Round: X` or `2nd Round`, and what follows the word `Round`."""
    word, _, rest = text.partition(" ")
    after, label = first_word(rest)
    digits = word.rstrip("stndrh").lstrip("0")
    number = NUMBER_WORDS.get(word.casefold()) if word.casefold().endswith(("st", "nd", "rd", "th")) else None
    if number is None and digits != word and digits.isdecimal() and len(digits) <= 2:
        number = int(digits)
    return None if number is None or after != _ROUND else (number, label)


def _named(text: str) -> RoundHeading | None:
    """Read `Opening Round`, `Final Round (3)`, `Discussion Round 2: X`."""
    words = text.split(" ", 3)
    at = next((i for i, word in enumerate(words[:3]) if word.casefold().rstrip(":") == _ROUND), 0)
    front = [word.casefold() for word in words[:at]]
    if not front or not {*front} <= DIALOGUE_WORDS | FIRST_ROUNDS | LATER_ROUNDS:
        return None
    name, rest = " ".join(words[: at + 1]).rstrip(":"), " ".join(words[at + 1 :])
    rest = f": {rest}" if words[at].endswith(":") else rest
    found = read_number(rest)
    if found is not None and not names_several_rounds(found.rest):
        label = _label(found.rest, SECTION)
        if label is None:
            return None
        title = " ".join(words[:at]) if {*front} <= DIALOGUE_WORDS else name
        return RoundHeading(found.number, with_round_name(title, label))
    label = _label(rest, SECTION)
    first = front[-1] in FIRST_ROUNDS and label is not None
    return RoundHeading(0, with_round_name(name, label or "")) if first else None


def with_round_name(name: str, label: str) -> str:
    """Return a label with the name of its round in front."""
    return f"{name}: {label}" if label else name


def _round_at_the_end(text: str) -> RoundHeading | None:
    """Read `Opening Arguments (Round 0)`, `Opening Arguments — Round 0: X`."""
    at = text.casefold().rfind("round ")
    if at <= 0 or len(text.casefold()) != len(text):
        return None
    label, counted = text[:at].rstrip(), read_number(text[at + 6 :].rstrip(" )"))
    bare = label.rstrip("(:[|" + DASHES).strip()
    about = {*bare.casefold().split()} & _NO_LABEL
    if bare == label or not bare or about or counted is None:
        return None
    if counted.rest and (counted.rest[0] not in (":", *DASHES) or names_several_rounds(counted.rest)):
        return None
    said = _label(counted.rest, SECTION)
    return None if said is None else RoundHeading(counted.number, with_round_name(bare, said))

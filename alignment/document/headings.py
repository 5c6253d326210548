"""Headings: how rounds, turns and the judge's sections are written, and how those of rounds and the judge are read.

    ## Round 1: Tension Resolution
    ### Muffin 🧁
    ## 💙 Judge: Round 1 Assessment

Source: RFC 0028, "Core Type" and "Tolerance Policy".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache
from typing import NamedTuple

from ...models.alignment.vocabulary import (
    DASHES,
    EXPERT_EMOJI,
    FIRST_ROUNDS,
    JUDGE,
    JUDGE_EMOJI,
    LATER_ROUNDS,
    NUMBER_WORDS,
    PANEL_WORDS,
    ROMAN,
    SECTION_WORDS,
)
from .markers import find_markers
from .text import PICTORIAL, escape_if_needed, one_line, plain, split_emoji, to_ascii_width, unescape

TITLE, SECTION, TURN = 1, 2, 3
#: Deepest level of a heading that may begin a round or a turn of an unknown expert.
DEEPEST = TURN + 1
_MAX_LEVELS = 6
#: Up to this many spaces before a heading's text are indentation; one more makes it a code block.
_INDENT = 3
#: Separator between a turn's emoji and the rest of its heading.
EXTRA = "—"
_SPECIAL = "#[［【"


@dataclass(frozen=True, slots=True)
class Heading:
    """A Markdown heading: its level from 1 to 6 and its text."""

    level: int
    text: str

    def __str__(self) -> str:
        return _written(self)


@dataclass(frozen=True, slots=True)
class RoundHeading:
    """`## Round N: Label`."""

    number: int
    label: str = ""

    def __str__(self) -> str:
        text = f"Round {self.number}: {self.label}" if self.label else f"Round {self.number}"
        return str(Heading(SECTION, text))


@dataclass(frozen=True, slots=True)
class AgentHeading:
    """`### Name Emoji`, with more text after a dash."""

    name: str
    emoji: str = EXPERT_EMOJI
    extra: str = ""

    def __str__(self) -> str:
        extra = f" {EXTRA} {self.extra}" if self.extra else ""
        return str(Heading(TURN, f"{self.name} {self.emoji}{extra}"))


@dataclass(frozen=True, slots=True)
class JudgeHeading:
    """`## 💙 Judge: Label`."""

    label: str = ""

    def __str__(self) -> str:
        text = f"{JUDGE_EMOJI} {JUDGE}: {self.label}" if self.label else f"{JUDGE_EMOJI} {JUDGE}"
        return str(Heading(SECTION, text))


@lru_cache(maxsize=4096)
def _written(heading: Heading) -> str:
    hashes = "#" * heading.level

    def reads_back(text: str) -> bool:
        return read_heading(f"{hashes} {text}") == heading

    return f"{hashes} {escape_if_needed(heading.text, _SPECIAL, reads_back=reads_back)}".rstrip()


def read_heading(line: str) -> Heading | None:
    """Return the heading of a line, or None.

    `##Round 1` is read as a heading; `#hashtag` and a marker in a heading are not.
    """
    text = line.lstrip()
    if text[:1] != "#" or len(line) - len(text) > _INDENT:
        return None
    body = text.lstrip("#")
    level = len(text) - len(body)
    if level > _MAX_LEVELS or not (not body or body[0].isspace() or (level > 1 and body[0].isalpha())):
        return None
    if find_markers(line).found:
        return None
    body = body.strip()
    closed = body.rstrip("#")
    body = closed if not closed or closed[-1].isspace() else body
    return Heading(level, one_line(unescape(body, _SPECIAL)))


@lru_cache(maxsize=4096)
def is_document_section(title: str) -> bool:
    """Return True for the heading of a section of the whole document, such as its panel."""
    return not (SECTION_WORDS | PANEL_WORDS).isdisjoint(split_emoji(title)[0].casefold().split())


@lru_cache(maxsize=4096)
def is_panel(title: str) -> bool:
    """Return True for the heading of a section that names the experts."""
    return not PANEL_WORDS.isdisjoint(split_emoji(title)[0].casefold().split())


@lru_cache(maxsize=4096)
def read_judge(heading: Heading) -> JudgeHeading | None:
    """Return the judge's heading: `💙 Judge: X`, `💙 Judge — X`, `Judge Synthesis`, `💙 Judge Round 0 Summary`."""
    name, _, label = heading.text.partition(":")
    if name == f"{JUDGE_EMOJI} {JUDGE}":
        return JudgeHeading(label.strip())
    text, emoji = split_emoji(heading.text)
    word, rest = text[: len(JUDGE)], text[len(JUDGE) :]
    if word.casefold() != JUDGE.casefold() or (rest and rest[0] not in (" ", ":", *DASHES)):
        return None
    if heading.level > TURN and emoji != JUDGE_EMOJI:
        return None
    rest = rest.strip()
    return JudgeHeading(rest[1:].strip() if rest[:1] == ":" else rest.lstrip(DASHES + " "))


class RoundMention(NamedTuple):
    """A round that a heading names. `number` is None for the one after the last: `Final Round`.

    `sure`: the heading begins the round by its words alone (`Round 1: X`); any other does if experts speak under it.
    `parted`: another sign than a colon separates the label from the number (`Round 1 (X)`).
    """

    number: int | None
    label: str
    sure: bool = False
    parted: bool = False

    def heading(self, last: int | None) -> RoundHeading:
        """Return the round's heading, where `last` is the number of the round before it."""
        following = 1 if last is None else last + 1
        return RoundHeading(following if self.number is None else self.number, self.label)


_ROUND = "round"
#: Separators between a round's number and its label, besides a colon.
_PARTING = DASHES + ".,;|·•→>)] "
_BRACKETS = {"(": ")", "[": "]"}
#: Separators before a second number, which make a heading one about several rounds: `Round 1-2`, `Round 1 & 2`.
_SEVERAL = ("&", "+", ",", "and ", "to ", *DASHES)
MAX_ROUNDS = 99
_MAX_DIGITS = 6
#: Emoji that may precede a heading; the digit of a keycap is not one.
_FRONT = "".join(PICTORIAL - {"#", "*"})


@lru_cache(maxsize=4096)
def read_round(heading: Heading) -> RoundMention | None:
    """Return the round that a heading names; None if it names several rounds, or none by a number."""
    if heading.level > DEEPEST or read_judge(heading):
        return None
    if mention := plain_round(heading):
        return mention
    text = plain(without_markup(heading.text)).lstrip(_FRONT).removeprefix("The ")
    first, _, rest = text.partition(" ")
    word, _, label = rest.partition(" ")
    if first.casefold() == _ROUND:
        mention = _counted(rest, heading.level)
    else:
        label = f": {label}" if word.endswith(":") else label
        mention = _named(first, word.rstrip(":"), label, heading.level)
        mention = mention or (_at_the_end(text) if heading.level <= SECTION else None)
    return mention if mention and (mention.sure or not is_panel(heading.text)) else None


def plain_round(heading: Heading) -> RoundMention | None:
    """Return the round of `Round N` and `Round N: Label`."""
    number, _, label = heading.text.removeprefix("Round ").partition(":")
    plainly = heading.text.startswith("Round ") and number.isascii() and number.isdecimal()
    return (
        RoundMention(int(number), label.strip(), sure=True)
        if plainly and len(number) <= _MAX_DIGITS
        else None
    )


def _counted(rest: str, level: int) -> RoundMention | None:
    """Return the round of what follows the word `Round`: `2`, `II: X`, `2 (X)`."""
    number_and_rest = read_number(rest)
    if number_and_rest is None or _names_several(number_and_rest[1]):
        return None
    label = _without_total(number_and_rest[1])
    mention = _mention(number_and_rest[0], label, sure=level <= SECTION or rest[:1].isdecimal())
    return mention if mention.sure or number_and_rest[0] <= MAX_ROUNDS else None  # `Round 2024 budget`


def _without_total(rest: str) -> str:
    """Return what follows `Round 2`, without `of 3` or `/3`."""
    bare = rest.lstrip("([ ")
    total = read_number(bare.removeprefix("of").lstrip("/ ")) if bare.startswith(("of ", "/")) else None
    return total[1].lstrip(")] ") if total else rest


def _mention(number: int | None, rest: str, *, sure: bool = True, name: str = "") -> RoundMention:
    """Return the round with the label that `rest` is, and the round's own name in front."""
    if not rest or rest[0] == ":":
        return RoundMention(number, ": ".join(filter(None, (name, rest[1:].strip()))), sure)
    label = rest.lstrip("".join(PICTORIAL)).lstrip(_PARTING + ":")
    if label[-1:] == _BRACKETS.get(label[:1]) and label[:1] not in label[1:]:
        label = label[1:-1].strip()
    return RoundMention(number, ": ".join(filter(None, (name, label))), parted=label != rest)


def _named(first: str, word: str, rest: str, level: int) -> RoundMention | None:
    """Return the round of `Second Round: X`, `Opening Round`, `Final Round (X)`."""
    which, sure = first.casefold(), level <= SECTION
    if word.casefold() != _ROUND:
        return None
    if sure and (which in FIRST_ROUNDS or which in LATER_ROUNDS):
        return _mention(0 if which in FIRST_ROUNDS else None, rest, name=f"{first} {word}")
    if not which.endswith(("st", "nd", "rd", "th")):
        return None
    digits = which.rstrip("stndrh")
    number = int(digits) if digits.isdecimal() and len(digits) <= 2 else NUMBER_WORDS.get(which)
    return None if number is None else _mention(number, rest, sure=sure)


def _at_the_end(text: str) -> RoundMention | None:
    """Return the round of `Open Questions (Round 1)`, `Synthesis — Round 2: X`."""
    at = text.casefold().rfind(f"{_ROUND} ")
    label = text[:at].rstrip() if at > 0 and len(text.casefold()) == len(text) else ""
    bare = label.rstrip("(:[|" + DASHES).strip()
    number_and_rest = read_number(text[at + len(_ROUND) + 1 :].rstrip(" )]"))
    if number_and_rest is None or bare == label or not bare or not _BRACKETS.keys().isdisjoint(bare):
        return None
    number, rest = number_and_rest
    if number > MAX_ROUNDS or _names_several(rest):
        return None
    return _mention(number, rest, sure=False, name=bare)


def read_number(text: str) -> tuple[int, str] | None:
    """Return the number that `text` begins with (`2`, `II`, `two`), and what follows; None for a fraction."""
    end = next((i for i, c in enumerate(text) if not c.isalnum()), len(text))
    word, rest = text[:end], text[end:]
    if word.isascii() and word.isdecimal():
        fraction = rest[:1] == "." and rest[1:2].isdecimal()
        return None if fraction or len(word) > _MAX_DIGITS else (int(word), rest.strip())
    number = NUMBER_WORDS.get(word.casefold(), ROMAN.get(word))
    ordinal = word.casefold().endswith(("st", "nd", "rd", "th"))
    return None if number is None or ordinal else (number, rest.strip())


def _names_several(rest: str) -> bool:
    """Return whether a second number follows the first: `1-2`, `1 & 2`."""
    for mark in _SEVERAL:
        if rest.startswith(mark):
            second = read_number(rest[len(mark) :].lstrip())
            return second is not None and second[0] <= MAX_ROUNDS and second[1][:1] in ("", ":", *DASHES)
    return False


def without_markup(text: str) -> str:
    """Return `text` on one line without tags, comments, links and code marks, in plain letters and digits."""
    text = to_ascii_width(text)
    if "<" in text or "](" in text:
        text = _without_links(_without_tags(text))
    return one_line(text.replace("`", "").replace("~~", ""))


def _without_tags(text: str) -> str:
    pieces, last, at = [], 0, text.find("<")
    while at >= 0 and (end := text.find(">", at)) >= 0:
        if text[at + 1 : at + 2].isalpha() or text[at + 1 : at + 2] in ("/", "!"):
            pieces.append(text[last:at])
            last = end + 1
        at = text.find("<", end)
    return "".join([*pieces, text[last:]])


def _without_links(text: str) -> str:
    """Replace `[words](address)` by `words`; also for a heading that is in brackets as a whole."""
    pieces, last, at = [], 0, text.find("](")
    while at >= 0 and (end := text.find(")", at)) >= 0:
        start = text.rfind("[", last, at)
        if start >= 0:
            pieces += [text[last:start].removesuffix("!"), text[start + 1 : at]]
            last = end + 1
        at = text.find("](", end)
    return "".join([*pieces, text[last:]])


def later_round(extra: str, last: int | None) -> RoundHeading | None:
    """Return the round after `last` that a turn's heading mentions beside the name: `Round 2` of `Muffin — Round 2`."""
    mention = read_round(Heading(TURN, extra.strip("()[] "))) if _ROUND in extra.casefold() else None
    if mention is None or mention.number is None or last is None or mention.number <= last:
        return None
    return mention.heading(last)

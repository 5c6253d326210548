"""Headings: rounds, experts and the judge, in every spelling that is read and the one that is written.

    ## Round 1: Tension Resolution
    ### Muffin 🧁
    ## 💙 Judge: Round 1 Assessment

Source: RFC 0028, "Core Type" and "Tolerance Policy".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from .markers import find_markers
from .names import Names, is_judge, person
from .text import is_emoji, one_line, plainest, split_emoji, unescaped
from .words import (
    ABOUT_A_ROUND,
    DASHES,
    EXPERT_EMOJI,
    JUDGE,
    JUDGE_EMOJI,
    JUDGE_WORDS,
    NUMBER_WORDS,
    OFFICES,
    ORNAMENTS,
    SECTION_WORDS,
    SPEAKING_WORDS,
)

TITLE, SECTION, TURN = 1, 2, 3
_MOST_LEVELS = 6
_MOST_DIGITS = 6
#: So many characters before a heading's text are indentation; one more, and it is a code block.
_INDENT = 3
#: Between a turn's emoji and what else its heading says.
_EXTRA = "—"
_SPECIAL = "#[［【"
_AFTER_EMOJI = ("(", "[", *DASHES, "→", "|", ":")


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
    """`### Name Emoji`, and what else it says after a dash."""

    name: str
    emoji: str = EXPERT_EMOJI
    extra: str = ""

    def __str__(self) -> str:
        extra = f" {_EXTRA} {self.extra}" if self.extra else ""
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

    return f"{hashes} {plainest(heading.text, _SPECIAL, reads_back=reads_back)}".rstrip()


def read_heading(line: str) -> Heading | None:
    """The heading of a line, or None. `##Round 1` is read as one; `#hashtag` and a marker in a heading are not."""
    text = line.lstrip()
    if text[:1] != "#" or len(line) - len(text) > _INDENT:
        return None
    body = text.lstrip("#")
    level = len(text) - len(body)
    if level > _MOST_LEVELS or not (not body or body[0].isspace() or (level > 1 and body[0].isalpha())):
        return None
    if find_markers(line).found:
        return None
    body = body.strip()
    closed = body.rstrip("#")
    body = closed if not closed or closed[-1].isspace() else body
    return Heading(level, one_line(unescaped(body, _SPECIAL)))


@lru_cache(maxsize=4096)
def read_round(heading: Heading) -> RoundHeading | None:
    """The round that a heading begins: `Round 1: X`, `Round 2 (X)`, `ROUND THREE — X`, `Opening Arguments (Round 0)`."""
    if heading.level > TURN + 1:
        return None
    text = split_emoji(heading.text)[0] if not heading.text[:1].isalpha() else heading.text
    word, _, rest = text.partition(" ")
    if word.casefold() == "round" and (counted := _number(rest)):
        number, rest = counted
        label = _round_label(rest, heading.level)
        return None if label is None else RoundHeading(number, label)
    if heading.level > SECTION:
        return None
    if (
        word[:1] in "Rr"
        and (counted := _number(text[1:]))
        and counted[1][:1] in (":", *DASHES)
        and counted[1]
    ):
        return RoundHeading(counted[0], counted[1][1:].strip())
    return None if read_judge(heading) else _round_at_the_end(text)


def _number(text: str) -> tuple[int, str] | None:
    """The number that `text` begins with, in digits or as a word, and what follows it."""
    text = text.lstrip("# ")
    digits = text[: len(text) - len(text.lstrip("0123456789"))]
    if digits:
        rest = text[len(digits) :]
        fraction = rest[:1] == "." and rest[1:2].isdecimal()
        return (
            None
            if len(digits) > _MOST_DIGITS or fraction or rest[:1].isalnum()
            else (int(digits), rest.strip())
        )
    word = text[: next((i for i, c in enumerate(text) if not c.isalpha()), len(text))]
    number = NUMBER_WORDS.get(word.casefold())
    return None if number is None else (number, text[len(word) :].strip())


def _round_label(rest: str, level: int) -> str | None:
    """The label after `Round N`; None when the heading is about a round that already began."""
    first = rest[:1]
    if not first or first == ":":
        return rest[1:].strip()
    if first == "/" or rest.startswith("of "):
        counted = _number(rest.removeprefix("of").lstrip("/ "))
        return _round_label(counted[1], level) if counted else None
    label = rest.lstrip(DASHES + ".,| ")
    if label.startswith("(") and label.endswith(")") and "(" not in label[1:]:
        label = label[1:-1].strip()
    words = split_emoji(label)[0].casefold().split()
    about = bool(words) and (words[0] in ABOUT_A_ROUND or words[0] == JUDGE.casefold())
    separated = label != rest
    return None if about or not (separated or level <= SECTION) else label


def _round_at_the_end(text: str) -> RoundHeading | None:
    """`Opening Arguments (Round 0)`, `Opening Arguments — Round 0`."""
    at = text.casefold().rfind("round ")
    if at <= 0 or len(text.casefold()) != len(text):
        return None
    label, counted = text[:at].rstrip(), _number(text[at + 6 :].rstrip(" )"))
    bare = label.rstrip("(:" + DASHES).strip()
    about = {*bare.casefold().split()} & (ABOUT_A_ROUND | SECTION_WORDS | {JUDGE.casefold()})
    if bare == label or not bare or about or counted is None or counted[1]:
        return None
    return RoundHeading(counted[0], bare)


@lru_cache(maxsize=4096)
def read_judge(heading: Heading) -> JudgeHeading | None:
    """The judge's heading: `💙 Judge: X`, `💙 Judge — X`, `Judge Synthesis`, `💙 Judge Round 0 Summary`."""
    name, _, label = heading.text.partition(":")
    if name == f"{JUDGE_EMOJI} {JUDGE}":
        return JudgeHeading(label.strip())
    text, emoji = split_emoji(heading.text)
    word, rest = text[: len(JUDGE)], text[len(JUDGE) :]
    if word.casefold() != JUDGE.casefold() or rest[:1].isalnum():
        return None
    rest = rest.removeprefix("'s").removeprefix("’s").strip()
    label = rest[1:].strip() if rest[:1] == ":" else rest.lstrip(DASHES + " ")
    named = label == "" or label != rest or rest.split()[0].casefold().strip(":,") in JUDGE_WORDS
    return JudgeHeading(label) if emoji == JUDGE_EMOJI or (named and heading.level <= TURN) else None


def read_agent(heading: Heading, names: Names) -> AgentHeading | None:
    """The expert whose turn a heading begins, or None: a heading like any other."""
    if not SECTION <= heading.level <= TURN + 1:
        return None
    text, emoji, extra = _split_agent(heading.text)
    name, more = person(_without_office(text))
    if not name or is_judge(name):
        return None
    extra = " ".join(filter(None, (more, extra)))
    known = names.get(name)
    if known is None and not _looks_like_a_turn(heading, name, emoji, names):
        return None
    emojis = (e for e in (emoji, known.emoji if known else "") if is_persons(e))
    found = AgentHeading(known.name if known else name, next(emojis, EXPERT_EMOJI), extra)
    return found if is_canonical(found) else None


def is_persons(emoji: str) -> bool:
    """True for an emoji that an expert may go by."""
    return bool(emoji) and is_emoji(emoji) and emoji not in ORNAMENTS and emoji != JUDGE_EMOJI


@lru_cache(maxsize=4096)
def is_canonical(agent: AgentHeading) -> bool:
    """True when the heading that is written for this expert is read as the same."""
    heading = read_heading(str(agent))
    if heading is None or read_round(heading) or read_judge(heading):
        return False
    text, emoji, extra = _split_agent(heading.text)
    return person(text) == (agent.name, "") and (emoji, extra) == (agent.emoji, agent.extra)


def _split_agent(text: str) -> tuple[str, str, str]:
    """Name, emoji and what a heading says besides, with the emoji where it belongs or in front."""
    words = text.split(" ")
    for i, word in enumerate(words[1:], start=1):
        if (i == len(words) - 1 or words[i + 1] == _EXTRA) and is_emoji(word):
            return " ".join(words[:i]), word, " ".join(words[i + 2 :])
    for i, word in enumerate(words[1:-1], start=1):
        follows = words[i + 1]
        if is_emoji(word) and (follows.startswith(_AFTER_EMOJI) or follows.casefold() in SPEAKING_WORDS):
            return " ".join(words[:i]), word, " ".join(words[i + 1 :]).lstrip(DASHES + ":| ")
    return *split_emoji(text), ""


def _without_office(text: str) -> str:
    """`Expert 1: Muffin` -> `Muffin`."""
    office, _, name = text.partition(":")
    word, _, number = office.casefold().partition(" ")
    return (
        name.strip() or text if word in OFFICES and number.strip("# ").isdecimal() >= bool(number) else text
    )


def _looks_like_a_turn(heading: Heading, name: str, emoji: str, names: Names) -> bool:
    """Somebody whom the panel does not name, by the emoji."""
    if not is_persons(emoji):
        return False
    if emoji == EXPERT_EMOJI:
        return True
    if heading.level != TURN:
        return False
    if names:
        return names.has_emoji(emoji)
    canonical = heading.text.startswith(name)
    return canonical or all(word[:1].isupper() or word[:1].isdecimal() for word in name.split())

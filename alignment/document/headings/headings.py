"""Headings: rounds, experts and the judge, as they are written; the judge's in every spelling that is read.

    ## Round 1: Tension Resolution
    ### Muffin 🧁
    ## 💙 Judge: Round 1 Assessment

`without_markup` removes Markdown and HTML from a heading.

Source: RFC 0028, "Core Type" and "Tolerance Policy".
"""

from __future__ import annotations

from dataclasses import dataclass
from functools import lru_cache

from ....models.alignment.vocabulary import (
    DASHES,
    EXPERT_EMOJI,
    JUDGE,
    JUDGE_EMOJI,
    JUDGE_WORDS,
    SECTION_WORDS,
)
from ..markers.markers import find_markers
from ..text.line_text import escape_if_needed, one_line, split_emoji, to_ascii_width, unescape

TITLE, SECTION, TURN = 1, 2, 3
_MOST_LEVELS = 6
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
    if level > _MOST_LEVELS or not (not body or body[0].isspace() or (level > 1 and body[0].isalpha())):
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
    return not SECTION_WORDS.isdisjoint(split_emoji(title)[0].casefold().split())


@lru_cache(maxsize=4096)
def read_judge(heading: Heading) -> JudgeHeading | None:
    """Return the judge's heading: `💙 Judge: X`, `💙 Judge — X`, `Judge Synthesis`, `💙 Judge Round 0 Summary`."""
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


_MARKS = frozenset("<[{`~")


def without_markup(text: str) -> str:
    """Return `text` on one line without tags, comments, links, anchors and code marks, in plain letters and digits."""
    text = to_ascii_width(text)
    if not _MARKS.isdisjoint(text):
        text = _without_anchor(_without_links(_without_tags(text)))
        text = text.replace("`", "").replace("~~", "")
    return one_line(text)


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


def _without_anchor(text: str) -> str:
    """Remove the `{#round-1}` at the end."""
    at = text.rfind("{")
    return text[:at] if at > 0 and text.endswith("}") and text[at + 1 : at + 2] in ("#", ".", ":") else text

"""The kinds of line of a dialogue document, and headings that are underlined rather than marked.

Source: RFC 0028, "Core Type: DialogueLine Enum"; CommonMark 0.31, "Setext headings".
"""

from __future__ import annotations

from dataclasses import dataclass

from ...models.alignment.vocabulary import PANEL_WORDS, SECTION_WORDS
from .headings.headings import SECTION, TITLE, AgentHeading, Heading, RoundHeading, read_heading, read_judge
from .headings.names import ExpertNames
from .headings.round_headings import read_round, round_of
from .headings.round_mentions import mentioned_round
from .headings.turn_headings import read_agent
from .markers.markers import Marker, find_markers
from .tables import is_row, read_row
from .text.line_text import (
    blank_escapes,
    escape_if_needed,
    has_bracket,
    is_item,
    one_line,
    plain,
    split_emoji,
    unescape,
)

#: Characters of a line in bold that may be a heading.
_LONGEST_BOLD = 300
_KEY_SPECIAL = "*:[［【"
_NO_EXPERTS = ExpertNames()


@dataclass(frozen=True, slots=True)
class Heading1:
    """`# Title`."""

    title: str


@dataclass(frozen=True, slots=True)
class MetadataLine:
    """`**Key**: Value`."""

    key: str
    value: str

    def __str__(self) -> str:
        def reads_back(key: str) -> bool:
            return read_metadata(f"**{key}**: {self.value}") == self

        return f"**{escape_if_needed(self.key, _KEY_SPECIAL, reads_back=reads_back)}**: {self.value}".rstrip()


@dataclass(frozen=True, slots=True)
class SectionHeading:
    """`## Section Name`; the judge's sections are of this kind."""

    name: str


@dataclass(frozen=True, slots=True)
class TableRow:
    """`| cell | cell |`; the row of dashes as well."""

    cells: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class MarkerLine:
    """A line that holds one marker or more."""

    markers: tuple[Marker, ...]


@dataclass(frozen=True, slots=True)
class Content:
    """Everything else: prose, blank lines, code."""

    text: str


DialogueLine = (
    Heading1 | MetadataLine | SectionHeading | RoundHeading | AgentHeading | TableRow | MarkerLine | Content
)


def classify(line: str, names: ExpertNames = _NO_EXPERTS) -> DialogueLine:
    """Return the kind of one line by itself. The caller treats it as content inside a fence or outside of its part."""
    head = line.lstrip()[:1]
    if head == "#" and (structure := _heading(line, names)):
        return structure
    if head == "|":
        return TableRow(read_row(line))
    if has_bracket(line) and (found := find_markers(line).found):
        return MarkerLine(tuple(it.marker for it in found))
    return read_metadata(line) or Content(line.strip())


def _heading(line: str, names: ExpertNames) -> DialogueLine | None:
    heading = read_heading(line)
    if heading is None:
        return None
    if heading.level == TITLE:
        return Heading1(heading.text)
    if structure := read_round(heading):
        return structure
    if read_judge(heading):
        return SectionHeading(heading.text)
    return read_agent(heading, names) or (SectionHeading(heading.text) if heading.level == SECTION else None)


def is_structure(line: str, names: ExpertNames) -> bool:
    """Return True for a line that would be read as a row, or as a heading that opens a part of the document."""
    if is_row(line) or read_bold_round(line):
        return True
    heading = read_heading(line) if line.lstrip()[:1] == "#" else None
    return heading is not None and bool(
        heading.level <= SECTION
        or read_round(heading)
        or mentioned_round(heading)
        or read_judge(heading)
        or read_agent(heading, names)
    )


def read_metadata(line: str) -> MetadataLine | None:
    """Read `**K**: v`, `**K:** v`, `- **K**: v`."""
    text = line.strip()
    text = text[2:].lstrip() if text[:2] in ("- ", "* ", "+ ") else text
    if not text.startswith("**"):
        return None
    veiled = blank_escapes(text)
    end = min((at for mark in ("**:", ":**") if (at := veiled.find(mark, 2)) > 0), default=0)
    if has_bracket(text[:end]) and any(it.start < end for it in find_markers(text).found):
        return None  # `**[TENSION T01]**: Speed` is a marker
    key = plain(unescape(text[2:end], _KEY_SPECIAL))
    return MetadataLine(key, one_line(text[end + 3 :])) if key and "**" not in veiled[2:end] else None


def read_bold_round(line: str) -> RoundHeading | None:
    """Return the round of a line that is all bold: `**Round 1: X**`. It counts where no heading begins a round."""
    heading = bold_heading(line)
    return read_round(heading) if heading else None


def bold_heading(line: str) -> Heading | None:
    """Return the heading that a line would be if it is all bold."""
    text = line.strip()
    if (
        len(text) > _LONGEST_BOLD
        or text[:2] not in ("**", "__")
        or text[-2:] != text[:2]
        or text[:2] in text[2:-2]
    ):
        return None
    return Heading(SECTION, " ".join(text[2:-2].split()))


_MIN_UNDERLINE, _MAX_UNDERLINED = 3, 200


def underlined_heading(above: str, line: str, names: ExpertNames) -> Heading | None:
    """Return the heading that `line` makes of the line above it, or None.

    Dashes are more often a rule across the page: they count below what a dialogue has a heading for.
    """
    mark = line.strip()
    if len(mark) < _MIN_UNDERLINE or mark[0] not in "=-" or mark.strip(mark[0]):
        return None
    text = one_line(above)
    if (
        not text
        or text[0] in "#>|<`~\\"
        or is_item(text)
        or len(text) > _MAX_UNDERLINED
        or read_metadata(text)
    ):
        return None
    if mark[0] == "=":
        return Heading(TITLE, text)
    heading = Heading(SECTION, plain(text))
    words = {*split_emoji(text)[0].casefold().split()}
    begun = round_of(heading, last=None) or mentioned_round(heading)
    known = begun or read_judge(heading) or read_agent(heading, names)
    return heading if known or words & (SECTION_WORDS | PANEL_WORDS | {"scoreboard"}) else None

"""The lines of a document: which are hidden in code or comments, and the kind of each; underlined headings.

Joining the raw lines gives the document back byte for byte.

Source: RFC 0028, "Core Type: DialogueLine Enum"; CommonMark 0.31, "Setext headings".
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .experts import ExpertNames, read_agent
from .headings import (
    SECTION,
    TITLE,
    AgentHeading,
    Heading,
    RoundHeading,
    is_document_section,
    read_heading,
    read_judge,
    read_round,
)
from .markers import Marker, find_markers
from .tables import is_row, read_row
from .text import (
    blank_escapes,
    escape_if_needed,
    has_bracket,
    is_item,
    one_line,
    plain,
    split_emoji,
    unescape,
)

_BOM = "\ufeff"
_SHORTEST_FENCE = 3
_COMMENT, _COMMENT_END = "<!--", "-->"
_INDENT = 3
_CODE_COLUMNS = 4


class Line(NamedTuple):
    """A line by its number from 1, as in the document, and its text without the line end.

    `hidden`: inside a fenced block of code or a comment, or one of the lines that delimit it.
    """

    number: int
    raw: str
    text: str
    hidden: bool


class LineReader:
    """Reader of lines that marks the hidden ones; afterwards `open_fence` is the line of a fence without end.

    From the line `bare_from` on, nothing opens a fence or a comment.
    """

    def __init__(self, markdown: str, *, bare_from: int | None = None) -> None:
        self.markdown = markdown
        self._bare_from = bare_from
        #: Number of the line that opened the block of code being read; 0: none.
        self.open_fence = 0
        #: Numbers of lines that open a comment which never ends: they are text.
        self.open_comments: list[int] = []
        self._fence = ""
        self._quoted = False
        self._in_comment = False
        self._indents = Indents()

    def lines(self) -> Iterator[Line]:
        """Yield every line from the first."""
        end = "\n" if "\n" in self.markdown else "\r"
        last_comment_end = self.markdown.rfind(_COMMENT_END)
        offset = 0
        parts = self.markdown.split(end)
        for number, part in enumerate(parts, start=1):
            raw = part + end if number < len(parts) else part
            text = part.rstrip("\r").removeprefix(_BOM if number == 1 else "")
            bare = self._bare_from is not None and number >= self._bare_from
            hidden = self._inside(text) or self._indents.hides(text)
            # Most lines hold nothing that hides.
            if not (hidden or bare) and ("`" in text or "~" in text or "<" in text):
                hidden = self._opens(text, number, comment_ends=offset < last_comment_end)
            if raw:
                yield Line(number, raw, text, hidden)
            offset += len(part) + 1
        if self._quoted:
            self.open_fence = 0

    def _inside(self, text: str) -> bool:
        """Return True for a line of a block of code or a comment that is open."""
        if self._in_comment:
            self._in_comment = _COMMENT_END not in text
            return True
        if self.open_fence:
            if not self._quoted or text.lstrip().startswith(">"):
                return self._in_fence(text)
            # A quote ends before the first line without quote mark; its code block ends with it.
            self.open_fence, self._quoted = 0, False
        return False

    def _opens(self, text: str, number: int, *, comment_ends: bool) -> bool:
        """Return True for a line that opens one."""
        self._fence, self._quoted = fence_of(text)
        if self._fence:
            self.open_fence = number
            return True
        return opens_comment(text) and self._comment(number, comment_ends)

    def _in_fence(self, text: str) -> bool:
        body = text.lstrip(" \t>" if self._quoted else " \t").rstrip()
        if body and body == body[0] * len(body) and body.startswith(self._fence):
            self.open_fence, self._quoted = 0, False
        return True

    def _comment(self, number: int, ends: bool) -> bool:
        self._in_comment = ends
        if not ends:
            self.open_comments.append(number)
        return ends


def fence_of(text: str) -> tuple[str, bool]:
    """Return the backticks or tildes that open a block of code, and whether inside a quote; empty: none."""
    body = text.lstrip(" \t>")
    quoted = ">" in text[: len(text) - len(body)]
    bullet, _, item = body.partition(" ")
    if bullet and len(bullet) <= _INDENT and (bullet in "-*+" or bullet.rstrip(".)").isdecimal()):
        body = item.lstrip()
    mark = body[:1]
    if not mark or mark not in "`~":
        return "", False
    rest = body.lstrip(mark)
    length = len(body) - len(rest)
    if length < _SHORTEST_FENCE or (mark == "`" and mark in rest):
        return "", False
    return mark * length, quoted


def opens_comment(text: str) -> bool:
    """Return True for a line that begins a comment and does not end it."""
    body = text.lstrip()
    return body.startswith(_COMMENT) and len(text) - len(body) <= _INDENT and _COMMENT_END not in body


class Indents:
    """Takes the lines outside fences and comments, and marks those that are indented code."""

    def __init__(self) -> None:
        #: A blank line, or code, came last; nothing at all has come before the first line.
        self._open = True
        self._in_list = False

    def hides(self, text: str) -> bool:
        """Return True for a line of indented code. A blank line is not code."""
        body = text.lstrip(" \t")
        if not body or body.isspace():
            self._open = True
            return False
        indent = text[: len(text) - len(body)]
        if self._open and not self._in_list and (len(indent) >= _CODE_COLUMNS or "\t" in indent):
            return True
        self._in_list = is_item(body) or (self._in_list and (bool(indent) or not self._open))
        self._open = False
        return False


#: Characters of a line in bold that may be a heading.
_MAX_BOLD = 300
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
    if has_bracket(line) and (found_markers := find_markers(line).found):
        return MarkerLine(tuple(marker.marker for marker in found_markers))
    return read_metadata(line) or Content(line.strip())


def _heading(line: str, names: ExpertNames) -> DialogueLine | None:
    heading = read_heading(line)
    if heading is None:
        return None
    if heading.level == TITLE:
        return Heading1(heading.text)
    begun = read_round(heading)
    if begun and begun.sure and begun.number is not None:
        return begun.heading(None)
    if read_judge(heading):
        return SectionHeading(heading.text)
    return read_agent(heading, names) or (SectionHeading(heading.text) if heading.level == SECTION else None)


def is_structure(line: str, names: ExpertNames) -> bool:
    """Return True for a line that would be read as a row, or as a heading that opens a part of the document."""
    heading = bold_heading(line)
    if is_row(line) or (heading and (begun := read_round(heading)) and begun.sure):
        return True
    heading = read_heading(line) if line.lstrip()[:1] == "#" else None
    return heading is not None and bool(
        heading.level <= SECTION or read_round(heading) or read_judge(heading) or read_agent(heading, names)
    )


def read_metadata(line: str) -> MetadataLine | None:
    """Read `**K**: v`, `**K:** v`, `- **K**: v`."""
    text = line.strip()
    text = text[2:].lstrip() if text[:2] in ("- ", "* ", "+ ") else text
    if not text.startswith("**"):
        return None
    veiled = blank_escapes(text)
    end = min((at for mark in ("**:", ":**") if (at := veiled.find(mark, 2)) > 0), default=0)
    if has_bracket(text[:end]) and any(marker.start < end for marker in find_markers(text).found):
        return None  # `**[TENSION T01]**: Speed` is a marker
    key = plain(unescape(text[2:end], _KEY_SPECIAL))
    return MetadataLine(key, one_line(text[end + 3 :])) if key and "**" not in veiled[2:end] else None


def bold_heading(line: str) -> Heading | None:
    """Return the heading that a line would be if it is all bold."""
    text = line.strip()
    if (
        len(text) > _MAX_BOLD
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
    structure = read_round(heading) or read_judge(heading) or read_agent(heading, names)
    return heading if structure or is_document_section(text) or "scoreboard" in words else None

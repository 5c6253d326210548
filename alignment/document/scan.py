"""The stateful scan: which lines of a document are hidden in code or comments, and the place of each line.

Joining the raw lines gives the document back byte for byte.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from typing import NamedTuple

from .headings.headings import SECTION, TITLE, read_heading, read_judge
from .headings.names import ExpertNames
from .headings.round_headings import round_of
from .headings.round_mentions import RoundMentions
from .headings.turn_headings import read_agent
from .lines import Content, DialogueLine, MetadataLine, classify
from .text.line_text import Indents

_BOM = "\ufeff"
_SHORTEST_FENCE = 3
_COMMENT, _COMMENT_END = "<!--", "-->"
_INDENT = 3


class Line(NamedTuple):
    """A line by its number from 1, as in the document, and its text without the line end.

    `hidden`: inside a fenced block of code or a comment, or one of the lines that delimit it.
    """

    number: int
    raw: str
    text: str
    hidden: bool


@dataclass(frozen=True, slots=True)
class ScannedLine:
    """A line, its kind, and its section and round."""

    number: int
    raw: str
    line: DialogueLine
    fenced: bool
    section: str
    round: int | None


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


def scan(markdown: str, names: ExpertNames | None = None) -> Iterator[ScannedLine]:
    """Yield every line with its kind, its section and its round."""
    section, number, last, in_header = "", None, None, True
    names = names or ExpertNames()
    mentions = _mentions(markdown, names)
    for line in LineReader(markdown).lines():
        kind: DialogueLine = Content(line.text.strip()) if line.hidden else classify(line.text, names)
        heading = None if line.hidden else read_heading(line.text)
        mentioned = mentions.read(line.number, heading, last=last) if heading else None
        if heading and (mentioned or heading.level in (TITLE, SECTION)):
            begun = mentioned or (round_of(heading, last=last) if heading.level == SECTION else None)
            section, number = heading.text, begun.number if begun else None
            last = last if number is None else number
            in_header = heading.level == TITLE and in_header
        if not in_header and isinstance(kind, MetadataLine):
            kind = Content(line.text.strip())
        yield ScannedLine(line.number, line.raw, kind, line.hidden, section, number)


def _mentions(markdown: str, names: ExpertNames) -> RoundMentions:
    """Return the headings that begin a round only because experts speak under them."""
    mentions, last = RoundMentions(), None
    for line in LineReader(markdown).lines():
        heading = None if line.hidden else read_heading(line.text)
        if heading is None:
            continue
        begun = round_of(heading, last=last) if heading.level == SECTION else None
        if begun:
            last = begun.number
            mentions.begin_round(last)
        elif read_judge(heading):
            mentions.close(heading.level)
        elif read_agent(heading, names):
            mentions.confirm_by_turn(heading.level, last=last)
        else:
            mentions.add_candidate(line.number, heading, last=last, deepest=SECTION)
    return RoundMentions(mentions.found())

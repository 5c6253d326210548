"""A document: what reviewers check in it, with line numbers from 1, and their remarks."""

from __future__ import annotations

import re
import unicodedata
from collections import Counter
from collections.abc import Iterator
from dataclasses import dataclass
from functools import cached_property
from typing import NamedTuple

_CODE = re.compile(r"`[^`]*`")
#: Replacement of code in prose.
CODE_MARK = "\ufffc"
# Patterns of this package take time in proportion to the text: nothing limits the time of a match.
_NOT_WORD = re.compile(r"[^\w\- ]")
#: Endings of the anchors of repeated headings.
_REPEATED = re.compile(r"[-_]\d+$")
#: Parts of a document that are filled in when the documentation is built.
_GENERATED = re.compile(
    r"^[ \t]*(?::::\s|-{1,2}8<-|\.\. (?:include|auto\w+|click|literalinclude)::|`{3,}\{|\{%|\{\{|<!--\s*include)",
    re.MULTILINE,
)
_EXPLICIT_ANCHOR = re.compile(
    r"""(?:\b(?:id|name)\s*=\s*["']([^"']+)["'])|\{:?\s*#([\w.:-]+)|^\(([^()\n]+)\)=|^[ \t]*\.\. _`?([^`:\n]+)`?:""",
    re.MULTILINE,
)


class Heading(NamedTuple):
    """A heading."""

    line: int
    level: int
    text: str
    #: True if there is no text before the next heading of its level or above.
    is_empty: bool


class Passage(NamedTuple):
    """A paragraph, a heading or a cell of a table; code in it is between backticks."""

    #: `paragraph`, `heading` or `cell`.
    kind: str
    #: Number of the first line.
    line: int
    lines: tuple[str, ...]

    @property
    def prose(self) -> str:
        """Return the text with a mark in the place of code."""
        return _CODE.sub(CODE_MARK, self.text)

    @property
    def text(self) -> str:
        """Return the text, line by line."""
        return "\n".join(self.lines)


class Link(NamedTuple):
    """A link, an image, a label or an anchor, with its target or name as it is written."""

    line: int
    target: str


class CodeWord(NamedTuple):
    """A text between backticks."""

    line: int
    word: str


class Labels(NamedTuple):
    """Labels and anchors of a document, and what is wrong with them."""

    #: Number of labels that it defines.
    defined: int = 0
    #: Uses of labels that it does not define.
    undefined: tuple[Link, ...] = ()
    #: Definitions of labels that have another target elsewhere in the document.
    redefined: tuple[Link, ...] = ()
    #: Anchors that it names outside code.
    anchors: tuple[Link, ...] = ()
    #: Texts that look like a link and are not read as one.
    unread: tuple[Link, ...] = ()


@dataclass(frozen=True)
class Document:
    """A document that was read."""

    source: str
    passages: tuple[Passage, ...]
    headings: tuple[Heading, ...]
    links: tuple[Link, ...]
    code_words: tuple[CodeWord, ...]
    #: Code in blocks.
    code: str = ""
    labels: Labels = Labels()  # noqa: RUF009 - frozen

    @cached_property
    def is_generated(self) -> bool:
        """Return whether parts of it are filled in later, so that its anchors are not known."""
        return _GENERATED.search(self.source) is not None

    @cached_property
    def anchors(self) -> frozenset[str]:
        """Return the names of its places in lower case, in the forms of the usual renderers."""
        explicit = (next(filter(None, match.groups())) for match in _EXPLICIT_ANCHOR.finditer(self.source))
        of_headings = (slug for heading in self.headings for slug in slugs(heading.text))
        return frozenset([*(anchor.strip().casefold() for anchor in explicit), *of_headings, "top", ""])

    def has_anchor(self, anchor: str) -> bool:
        """Return whether it has a place of this name; True if that is not known."""
        name = anchor.casefold()
        if self.is_generated or name in self.anchors or any(sign in name for sign in ":~="):
            return True
        base = _REPEATED.sub("", name)
        return base != name and self._repeated[base] > 1

    @cached_property
    def _repeated(self) -> Counter[str]:
        return Counter(slug for heading in self.headings for slug in slugs(heading.text))


def slugs(heading: str) -> frozenset[str]:
    """Return the anchors that GitHub, GitLab, Python-Markdown and docutils make of a heading."""
    lower = heading.strip().lower()
    github = _NOT_WORD.sub("", lower).replace(" ", "-")
    plain = unicodedata.normalize("NFKD", lower).encode("ascii", "ignore").decode()
    python = re.sub(r"[-\s]+", "-", re.sub(r"[^\w\s-]", "", plain).strip())
    docutils = re.sub(r"[^a-z0-9]+", "-", plain).strip("-")
    return frozenset({github, re.sub(r"-+", "-", github), python, docutils})


def sections(document: Document) -> Iterator[tuple[Heading, tuple[int, ...]]]:
    """Yield each heading with the numbers of the headings above it, outermost first."""
    open_headings: list[tuple[int, int]] = []
    for number, heading in enumerate(document.headings):
        while open_headings and open_headings[-1][1] >= heading.level:
            open_headings.pop()
        yield heading, tuple(open_heading for open_heading, _ in open_headings)
        open_headings.append((number, heading.level))


class Remark(NamedTuple):
    """A problem found in a document."""

    line: int
    rule: str
    severity: str
    message: str


def line_at(first: int, text: str, offset: int) -> int:
    """Return the number of the line at a place of a text that begins in line `first`."""
    return first + text.count("\n", 0, offset)

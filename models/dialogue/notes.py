"""What the parser notes while it reads: spellings that are read, but are not the canonical ones."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .text import squeezed


class Form(StrEnum):
    """Codes of the findings about form."""

    TITLE = "title-form"
    METADATA = "metadata-form"
    SECTION = "section-form"
    ROUND = "round-form"
    AGENT = "agent-form"
    JUDGE = "judge-form"
    MARKER = "marker-form"
    NEAR_MARKER = "marker-word"
    UNCLOSED_MARKER = "marker-unclosed"
    UNDERLINED = "heading-underlined"
    SEPARATOR = "table-separator"
    UNCLOSED_FENCE = "fence-unclosed"
    UNCLOSED_COMMENT = "comment-unclosed"


@dataclass(frozen=True, slots=True)
class Note:
    """A spelling, where it stands (from 1), and the line to write instead where there is one."""

    code: Form
    line: int
    column: int
    hint: str | None


class Notes:
    """Collects notes."""

    def __init__(self) -> None:
        self.found: list[Note] = []

    def add(self, code: Form, line: int, *, column: int = 1, hint: str | None = None) -> None:
        """Notes a spelling."""
        self.found.append(Note(code, line, column, hint))

    def compare(self, code: Form, line: int, *, text: str, canonical: str) -> None:
        """Notes a line that is not spelled like `canonical`. Spacing is the author's own affair, but words stay apart."""
        if text == canonical:
            return
        spaced = canonical[:1] != "#" or _words(text) >= _words(canonical)
        if squeezed(text) != squeezed(canonical) or not spaced:
            self.add(code, line, hint=canonical)


def _words(heading: str) -> int:
    """How many words stand before a heading's colon."""
    return len(heading.partition(":")[0].split())

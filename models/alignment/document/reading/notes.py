"""Notes of the parser about spellings that are accepted but not canonical."""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..text.line_text import without_spaces


class FormRule(StrEnum):
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
class FormNote:
    """A spelling, its position (from 1), and the replacement of the line if there is one."""

    code: FormRule
    line: int
    column: int
    hint: str | None


class FormNotes:
    """Collects notes."""

    def __init__(self) -> None:
        self.found: list[FormNote] = []

    def add(self, code: FormRule, line: int, *, column: int = 1, hint: str | None = None) -> None:
        """Note a spelling."""
        self.found.append(FormNote(code, line, column, hint))

    def compare(self, code: FormRule, line: int, *, text: str, canonical: str) -> None:
        """Note a line that is not spelled like `canonical`. Spacing is ignored, except between words."""
        if text == canonical:
            return
        spaced = canonical[:1] != "#" or _words(text) >= _words(canonical)
        if without_spaces(text) != without_spaces(canonical) or not spaced:
            self.add(code, line, hint=canonical)


def _words(heading: str) -> int:
    """Return the number of words before a heading's colon."""
    return len(heading.partition(":")[0].split())

"""Findings of `symposia lint`: codes, messages, and severities in lenient mode.

In strict mode every finding is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from ..reading.notes import FormRule


class LintSeverity(StrEnum):
    """Severity of a finding; only errors make `symposia lint` fail."""

    ERROR = "error"
    WARNING = "warning"


class ContentRule(StrEnum):
    """Codes of findings about the content of a document."""

    MISSING_TITLE = "title-missing"
    MISSING_ID = "id-missing"
    DUPLICATE_ID = "id-duplicate"
    UNKNOWN_TENSION = "tension-unknown"
    STATUS = "tension-status"
    ROW_SUM = "score-sum"
    TOTAL_SUM = "score-total"
    COLUMNS = "table-columns"
    UNKNOWN_AGENT = "agent-unknown"
    DUPLICATE_ROUND = "round-duplicate"
    UNCLEAR_ROUND = "round-unclear"
    UNREAD_ROUND = "round-unread"
    UNREAD_TURN = "turn-unread"


Code = FormRule | ContentRule

_E, _W = LintSeverity.ERROR, LintSeverity.WARNING
#: Severity in lenient mode and message of each code.
RULES: dict[Code, tuple[LintSeverity, str]] = {
    FormRule.TITLE: (_W, "the title must be written as `# Title`"),
    FormRule.METADATA: (_W, "metadata must be written as `**Key**: LedgerValue`"),
    FormRule.SECTION: (_W, "a section must be written as `## ResourceName`"),
    FormRule.ROUND: (_W, "a round must be written as `## Round N: Label`"),
    FormRule.AGENT: (_W, "a turn must be written as `### ResourceName Emoji`"),
    FormRule.JUDGE: (_W, "the judge's section must be written as `## 💙 VerdictFunction: Label`"),
    FormRule.MARKER: (_W, "a marker must be alone on its line, in its canonical spelling"),
    FormRule.NEAR_MARKER: (_W, "unknown marker word, so the marker is ignored"),
    FormRule.UNCLOSED_MARKER: (
        _E,
        "the marker's bracket is not closed on its line, so the marker is ignored",
    ),
    FormRule.UNDERLINED: (_W, "a heading must be written with `#`, not underlined"),
    FormRule.SEPARATOR: (_W, "the table header must be followed by a row of dashes"),
    FormRule.UNCLOSED_FENCE: (_E, "the code block is not closed, so the rest of the document is code"),
    FormRule.UNCLOSED_COMMENT: (_W, "the comment is not closed, so it is read as text"),
    ContentRule.MISSING_TITLE: (_W, "the document has no title"),
    ContentRule.MISSING_ID: (_W, "the marker has no id"),
    ContentRule.DUPLICATE_ID: (_E, "the id is declared twice in one round or table"),
    ContentRule.UNKNOWN_TENSION: (_W, "no tension with this id was raised"),
    ContentRule.STATUS: (_W, "the tracker contradicts the markers"),
    ContentRule.ROW_SUM: (_E, "the total is not the sum of the scores"),
    ContentRule.TOTAL_SUM: (_E, "the total is not the sum of the rows"),
    ContentRule.COLUMNS: (_E, "the number of cells differs from the table header"),
    ContentRule.UNKNOWN_AGENT: (_W, "this expert is not in the expert panel"),
    ContentRule.DUPLICATE_ROUND: (_W, "duplicate round number"),
    ContentRule.UNCLEAR_ROUND: (
        _W,
        "this heading does not start a round: turns below it belong to the previous round, or to none",
    ),
    ContentRule.UNREAD_ROUND: (
        _W,
        "the line looks like a round but is not one, and the document has no round",
    ),
    ContentRule.UNREAD_TURN: (_W, "the heading looks like a turn but is not one, and the round has no turn"),
}


@dataclass(frozen=True, slots=True)
class LintFinding:
    """One problem, with line and column from 1; line 0 is the document as a whole.

    `fix_hint` is the replacement of the whole line. `safe` marks a fix that changes the spelling
    only, never the meaning.
    """

    code: Code
    severity: LintSeverity
    line: int
    column: int
    message: str
    fix_hint: str | None = None
    safe: bool = False

    def to_data(self) -> dict[str, str | int | None]:
        """Return the finding as JSON data."""
        return {
            "code": self.code.value,
            "severity": self.severity.value,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "fix_hint": self.fix_hint,
        }

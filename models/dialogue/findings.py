"""What `lint` finds: the codes, what each means, and how grave it is when reading leniently.

In strict mode every finding is an error.
"""

from __future__ import annotations

from dataclasses import dataclass
from enum import StrEnum

from .notes import Form


class Severity(StrEnum):
    """How grave a finding is; only errors make `symposia lint` fail."""

    ERROR = "error"
    WARNING = "warning"


class Rule(StrEnum):
    """Codes of the findings about what a document says."""

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


Code = Form | Rule

_E, _W = Severity.ERROR, Severity.WARNING
#: Of each code the severity in lenient mode, and what is wrong.
RULES: dict[Code, tuple[Severity, str]] = {
    Form.TITLE: (_W, "the title is not written `# Title`"),
    Form.METADATA: (_W, "metadata is not written `**Key**: Value`"),
    Form.SECTION: (_W, "a section is not written `## Name`"),
    Form.ROUND: (_W, "a round is not written `## Round N: Label`"),
    Form.AGENT: (_W, "a turn is not written `### Name Emoji`"),
    Form.JUDGE: (_W, "the judge's section is not written `## 💙 Judge: Label`"),
    Form.MARKER: (_W, "a marker does not stand alone on its line, in its canonical spelling"),
    Form.NEAR_MARKER: (_W, "this is not a marker's word, so the marker does not count"),
    Form.UNCLOSED_MARKER: (
        _E,
        "the marker's bracket is not closed on its line, so the marker does not count",
    ),
    Form.UNDERLINED: (_W, "a heading is underlined, and not written with `#`"),
    Form.SEPARATOR: (_W, "no row of dashes follows the table's header"),
    Form.UNCLOSED_FENCE: (_E, "the block of code is never closed, so the rest of the document is code"),
    Form.UNCLOSED_COMMENT: (_W, "the comment is never closed, so it is text"),
    Rule.MISSING_TITLE: (_W, "the document has no title"),
    Rule.MISSING_ID: (_W, "the marker has no id"),
    Rule.DUPLICATE_ID: (_E, "the id is used twice in one place"),
    Rule.UNKNOWN_TENSION: (_W, "no tension with this id was raised"),
    Rule.STATUS: (_W, "the tracker contradicts the markers"),
    Rule.ROW_SUM: (_E, "the total is not the sum of the scores"),
    Rule.TOTAL_SUM: (_E, "the total is not the sum of the rows"),
    Rule.COLUMNS: (_E, "the row has not as many cells as its header"),
    Rule.UNKNOWN_AGENT: (_W, "the expert panel does not name this expert"),
    Rule.DUPLICATE_ROUND: (_W, "the round's number was used before"),
    Rule.UNCLEAR_ROUND: (
        _W,
        "this heading begins no round, and experts speak under it: their turns count to the round before, or to none",
    ),
    Rule.UNREAD_ROUND: (_W, "the line reads like a round but is none, and the document has no other"),
    Rule.UNREAD_TURN: (_W, "the heading reads like a turn but is none, and nobody else speaks in the round"),
}


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that is wrong, at a line and a column from 1; line 0 is the document as a whole.

    `fix_hint` is the text to put in place of the whole line. `safe` says that doing so changes the
    spelling only, never what the document says.
    """

    code: Code
    severity: Severity
    line: int
    column: int
    message: str
    fix_hint: str | None = None
    safe: bool = False

    def to_data(self) -> dict[str, str | int | None]:
        """The finding as JSON data."""
        return {
            "code": self.code.value,
            "severity": self.severity.value,
            "line": self.line,
            "column": self.column,
            "message": self.message,
            "fix_hint": self.fix_hint,
        }

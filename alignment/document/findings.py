"""Findings of `symposia lint`: codes, notes of the parser, messages, severities, and SARIF.

In strict mode every finding is an error; the severities here are those of lenient mode. A finding about
the form carries the replacement of its line as a fix.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass
from enum import StrEnum
from typing import Any
from urllib.parse import quote

from ...models.text.sarif import SarifRule, sarif_fix, sarif_log, sarif_message
from .text import without_spaces


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
    FormRule.METADATA: (_W, "metadata must be written as `**Key**: Value`"),
    FormRule.SECTION: (_W, "a section must be written as `## Name`"),
    FormRule.ROUND: (_W, "a round must be written as `## Round N: Label`"),
    FormRule.AGENT: (_W, "a turn must be written as `### Name Emoji`"),
    FormRule.JUDGE: (_W, "the judge's section must be written as `## 💙 Judge: Label`"),
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
    ContentRule.UNREAD_ROUND: (_W, "the line looks like a round but is not read as one"),
    ContentRule.UNREAD_TURN: (_W, "an expert seems to speak here, but no turn is read"),
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


def to_sarif(findings: Mapping[str, Sequence[LintFinding]], *, version: str) -> dict[str, Any]:
    """Return the findings of each file as one run of `symposia lint`; `version` is Symposia's."""
    rules = [
        SarifRule(rule_id=code.value, short=text, level=severity.value).to_json()
        for code, (severity, text) in RULES.items()
    ]
    order = {code: index for index, code in enumerate(RULES)}
    results = [
        _result(file, finding, order[finding.code])
        for file, file_findings in findings.items()
        for finding in file_findings
    ]
    return sarif_log("symposia lint", version=version, rules=rules, results=results)


def _result(file: str, finding: LintFinding, rule_index: int) -> dict[str, Any]:
    uri, line = quote(file), max(finding.line, 1)
    result: dict[str, Any] = {
        "ruleId": finding.code.value,
        "ruleIndex": rule_index,
        **sarif_message(
            finding.severity.value, finding.message, uri=uri, startLine=line, startColumn=finding.column
        ),
    }
    if finding.fix_hint is not None:
        fix = sarif_fix("replacement of the line", uri=uri, start=line, end=line, text=finding.fix_hint)
        result["fixes"] = [fix]
    return result

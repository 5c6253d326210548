"""`lint`: findings about the form and the content of a document.

Source: RFC 0028, "Tolerance Policy" and "Phase 3: Linter Migration".
"""

from __future__ import annotations

from ..reading.notes import FormNote, FormRule
from ..reading.reader import read
from . import rules
from .findings import RULES, LintFinding, LintSeverity

#: Codes whose fix would change the meaning of the document.
_UNSAFE = frozenset({FormRule.NEAR_MARKER})


def lint(markdown: str, *, strict: bool = False) -> tuple[LintFinding, ...]:
    """Return the findings in the order of their lines. `strict` makes each an error."""
    reading = read(markdown)
    lines = markdown.split("\n")
    found = [*map(_of_form, reading.notes), *rules.check_content(reading.document, lines)]
    found += rules.unclear_rounds(reading.unclear)
    found.sort(key=lambda finding: (finding.line, finding.column))
    if strict:
        found = [_as_error(finding) for finding in found]
    return tuple(found)


def _of_form(note: FormNote) -> LintFinding:
    severity, message = RULES[note.code]
    safe = note.hint is not None and note.code not in _UNSAFE
    return LintFinding(note.code, severity, note.line, note.column, message, note.hint, safe)


def _as_error(finding: LintFinding) -> LintFinding:
    return LintFinding(
        finding.code,
        LintSeverity.ERROR,
        finding.line,
        finding.column,
        finding.message,
        finding.fix_hint,
        finding.safe,
    )

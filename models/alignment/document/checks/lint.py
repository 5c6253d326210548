"""`lint`: findings about the form and the content of a document.

Source: RFC 0028, "Tolerance Policy" and "Phase 3: Linter Migration".
"""

from __future__ import annotations

from ..reading.notes import Form, Note
from ..reading.reader import read
from . import rules
from .findings import RULES, Finding, Severity

#: Codes whose fix would change the meaning of the document.
_UNSAFE = frozenset({Form.NEAR_MARKER})


def lint(markdown: str, *, strict: bool = False) -> tuple[Finding, ...]:
    """Return the findings in the order of their lines. `strict` makes each an error."""
    reading = read(markdown)
    lines = markdown.split("\n")
    found = [*map(_of_form, reading.notes), *rules.check(reading.document, lines)]
    found += rules.unclear_rounds(reading.unclear)
    found.sort(key=lambda finding: (finding.line, finding.column))
    if strict:
        found = [_as_error(finding) for finding in found]
    return tuple(found)


def _of_form(note: Note) -> Finding:
    severity, message = RULES[note.code]
    safe = note.hint is not None and note.code not in _UNSAFE
    return Finding(note.code, severity, note.line, note.column, message, note.hint, safe)


def _as_error(finding: Finding) -> Finding:
    return Finding(
        finding.code,
        Severity.ERROR,
        finding.line,
        finding.column,
        finding.message,
        finding.fix_hint,
        finding.safe,
    )

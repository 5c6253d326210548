"""`lint`: everything that is wrong with a document, in its form and in what it says.

Source: RFC 0028, "Tolerance Policy" and "Phase 3: Linter Migration".
"""

from __future__ import annotations

from . import rules
from .findings import RULES, Finding, Severity
from .notes import Form, Note
from .reader import read

#: A fix of these would change what the document says.
_UNSAFE = frozenset({Form.NEAR_MARKER})


def lint(markdown: str, *, strict: bool = False) -> tuple[Finding, ...]:
    """The findings in the order of their lines. `strict` makes each an error."""
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

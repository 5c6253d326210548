"""`lint`: everything that is wrong with a document, in its form and in what it says.

Source: RFC 0028, "Tolerance Policy" and "Phase 3: Linter Migration".
"""

from __future__ import annotations

from . import rules
from .findings import RULES, Finding, Severity
from .notes import Form, Note
from .reader import read

#: A fix of these would change what the document says.
_UNSAFE = frozenset({Form.NEAR_MARKER, Form.UNCLEAR_ROUND})


def lint(markdown: str, *, strict: bool = False) -> tuple[Finding, ...]:
    """The findings in the order of their lines. `strict` makes each an error."""
    reading = read(markdown)
    lines = markdown.split("\n")
    found = [*map(_of_form, reading.notes), *rules.check(reading.document, lines)]
    found.sort(key=lambda finding: (finding.line, finding.column))
    if strict:
        found = [_as_error(finding) for finding in found]
    return tuple(found)


def fix(markdown: str) -> str:
    """`markdown` with every safe fix applied; all other lines stay as they are, byte for byte."""
    for _ in range(5):  # a mended line may show another flaw, such as a row of dashes below a marker
        hints = {f.line: f.fix_hint for f in reversed(lint(markdown)) if f.safe and f.fix_hint is not None}
        if not hints:
            break
        end = "\r" if "\r" in markdown and "\n" not in markdown else "\n"
        lines = markdown.split(end)
        for number, hint in hints.items():
            lines[number - 1] = _mended(lines[number - 1], hint, end)
        markdown = end.join(lines)
    return markdown


def _mended(line: str, hint: str, end: str) -> str:
    tail = line[len(line.rstrip("\r")) :]
    bom = "\ufeff" if line.startswith("\ufeff") else ""
    return bom + hint.replace("\n", tail + end) + tail


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

"""Check of a model's findings against the lines that it was shown.

A finding must quote its line. A finding whose line or quote does not exist is dropped: it is never moved to a
line that the model did not mean. If only the number is wrong, the quote decides.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from typing import NamedTuple

from ...models.severity import Severity
from ...models.text.numbered_lines import ShownLine, without_number
from .findings import Finding, with_shown_line

#: Maximum distance of a quoted line from the line that the finding names, if the quote occurs several times.
NEAR = 3
#: Minimum characters of a quote that is only a part of its line.
_MIN_PART = 8


class CheckedFindings(NamedTuple):
    """Findings whose quotes were found, and the number of the others."""

    findings: tuple[Finding, ...]
    dropped: int


def check_quotes(findings: Iterable[Finding], lines: Mapping[int, ShownLine]) -> CheckedFindings:
    """Return the findings that quote one of the lines to review, each at the line that it quotes.

    Args:
        findings: Findings of a model.
        lines: The lines that the model was shown, by number.
    """
    given = tuple(findings)
    reviewed = {number: _normalise(line.text) for number, line in lines.items() if line.is_reviewed}
    placed = [place for it in given if (place := _place(it, reviewed, max(lines, default=0))) is not None]
    texts = {number: line.text for number, line in lines.items()}
    return CheckedFindings(tuple(with_shown_line(it, texts) for it in placed), len(given) - len(placed))


def cap_severity(finding: Finding) -> Finding:
    """Return a model's finding; without a verification it is at most `high`."""
    if finding.verification is not None or finding.severity is not Severity.CRITICAL:
        return finding
    return finding.model_copy(update={"severity": Severity.HIGH})


def _place(finding: Finding, reviewed: Mapping[int, str], last: int) -> Finding | None:
    """Return the finding at the line that it quotes; None: there is no such line."""
    if not 1 <= finding.start_line <= last:
        return None
    # A line of code may begin as a numbered line does (`200: "OK",`), so the quote as it is comes first.
    quotes = map(_normalise, (finding.quote, without_number(finding.quote)))
    starts = (_line_of(it, finding.start_line, reviewed) for it in quotes if it)
    start = next((it for it in starts if it is not None), None)
    if start is None:
        return None
    end = finding.end_line + start - finding.start_line
    if end > last:  # the range does not exist, so neither does what the patch replaces
        return finding.model_copy(update={"start_line": start, "end_line": start, "replacement": None})
    return finding.model_copy(update={"start_line": start, "end_line": end})


def _line_of(quote: str, named: int, reviewed: Mapping[int, str]) -> int | None:
    """Return the quoted line: the named one, the nearest one near it, or the only one elsewhere."""
    found = [number for number, text in reviewed.items() if text == quote]
    if not found and len(quote) >= _MIN_PART:
        found = [number for number, text in reviewed.items() if quote in text]
    near = [number for number in found if abs(number - named) <= NEAR]
    if near:
        return min(near, key=lambda number: (abs(number - named), number))
    return found[0] if len(found) == 1 else None


def _normalise(text: str) -> str:
    return " ".join(text.split())

"""Number of findings by severity. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from ..severity import Severity
from .findings import Finding


def count_by_severity(findings: Iterable[Finding]) -> dict[str, int]:
    """Return the number of findings by severity, most severe first; severities without findings are left out."""
    found = Counter(it.severity for it in findings)
    return {severity.value: found[severity] for severity in reversed(Severity) if found[severity]}


def format_counts(findings: Iterable[Finding]) -> str:
    """Return the same for people, such as `1 high, 2 low`; empty when there are none."""
    return ", ".join(f"{count} {severity}" for severity, count in count_by_severity(findings).items())

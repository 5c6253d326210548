"""How many findings there are of each severity. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Iterable

from .findings import Finding
from .severity import Severity


def counted(findings: Iterable[Finding]) -> dict[str, int]:
    """Findings by severity, the most severe first; those there are none of are left out."""
    found = Counter(it.severity for it in findings)
    return {severity.value: found[severity] for severity in reversed(Severity) if found[severity]}


def counts_told(findings: Iterable[Finding]) -> str:
    """The same for people, such as `1 high, 2 low`; empty when there are none."""
    return ", ".join(f"{count} {severity}" for severity, count in counted(findings).items())

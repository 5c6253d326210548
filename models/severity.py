"""Severity of findings, in five levels."""

from __future__ import annotations

from enum import StrEnum


class Severity(StrEnum):
    """Severity of a finding, in ascending order."""

    INFO = "info"
    LOW = "low"
    MEDIUM = "medium"
    HIGH = "high"
    CRITICAL = "critical"

    @property
    def rank(self) -> int:
        """0 for `info`, 4 for `critical`."""
        return _RANKS[self]

    def at_least(self, other: Severity) -> bool:
        """Return whether this matters as much as `other`, or more."""
        return self.rank >= other.rank

    @property
    def sarif_level(self) -> str:
        """The level that SARIF 2.1.0 (section 3.27.10) knows for it: `error`, `warning` or `note`."""
        if self.at_least(Severity.HIGH):
            return "error"
        return "warning" if self is Severity.MEDIUM else "note"


_RANKS = {severity: rank for rank, severity in enumerate(Severity)}

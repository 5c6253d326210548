"""Findings of `symposia doctor`: subject, grade, text and advice."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Grade(StrEnum):
    """Severity of a finding."""

    GOOD = "ok"
    #: It works, but not as well as it should.
    WARNING = "warning"
    #: Sessions cannot run like this.
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class CheckResult:
    """Result of one check."""

    subject: str
    grade: Grade
    #: The result on one line, without secrets.
    text: str
    #: The remedy; empty if none is needed.
    advice: str = ""
    #: Numbers for monitoring: `owed` and `late` of the archive, `ready` of the queue.
    counts: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, str | dict[str, int]]:
        """Return the finding as JSON data; without `counts` if there are none."""
        counts = {"counts": dict(self.counts)} if self.counts else {}
        told = {"subject": self.subject, "grade": self.grade, "text": self.text, "advice": self.advice}
        return told | counts

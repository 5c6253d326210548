"""Findings of `symposia doctor`: what was checked, how bad it is, and what to do."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field
from enum import StrEnum


class Grade(StrEnum):
    """How bad it is."""

    GOOD = "ok"
    #: It works, but not as well as it should.
    WARNING = "warning"
    #: Sessions cannot run like this.
    BAD = "bad"


@dataclass(frozen=True, slots=True)
class Finding:
    """One thing that was checked."""

    subject: str
    grade: Grade
    #: What was found, on one line, without secrets.
    text: str
    #: What to do about it; empty where nothing is to be done.
    advice: str = ""
    #: Numbers for programs that watch: `owed` and `late` of the archive, `ready` of the queue.
    counts: Mapping[str, int] = field(default_factory=dict)

    def to_json(self) -> dict[str, str | dict[str, int]]:
        """The same as data; without `counts` where nothing was counted."""
        counts = {"counts": dict(self.counts)} if self.counts else {}
        told = {"subject": self.subject, "grade": self.grade, "text": self.text, "advice": self.advice}
        return told | counts

"""A gate: the least severity of open findings that fails a run, of all findings or of new ones only."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, Self

from .severity import Severity

_NEW = "new"


class Gated(Protocol):
    """A finding, as far as a gate knows it. Schedules use gates too, and know no findings."""

    @property
    def severity(self) -> Severity:
        """Its severity."""
        ...

    @property
    def status(self) -> str | None:
        """`new` if an earlier run did not have it."""
        ...

    @property
    def is_open(self) -> bool:
        """True if it is neither gone nor suppressed."""
        ...


@dataclass(frozen=True, slots=True)
class Gate:
    """Written as a severity (`high`), or as `new:high`; `new` is `new:low`."""

    least: Severity
    #: True: only findings that are new count.
    new_only: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the gate of a text.

        Raises:
            ValueError: The text is no gate; the message is a rule.
        """
        first, colon, rest = text.partition(":")
        name = (rest if colon else Severity.LOW.value) if first == _NEW else text
        try:
            return cls(Severity(name), new_only=first == _NEW)
        except ValueError:
            names = ", ".join(severity.value for severity in Severity)
            raise ValueError(f"must be a severity ({names}), `new:SEVERITY` or `new`") from None

    def __str__(self) -> str:
        return f"{_NEW}:{self.least.value}" if self.new_only else self.least.value

    def fails(self, findings: Iterable[Gated]) -> bool:
        """Return whether an open finding reaches the gate."""
        return any(map(self._reaches, findings))

    def _reaches(self, finding: Gated) -> bool:
        is_counted = finding.is_open and (not self.new_only or finding.status == _NEW)
        return is_counted and finding.severity.at_least(self.least)

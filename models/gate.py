"""A gate: the least severity of open findings that fails a run, and whether unreviewed items do."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass
from typing import Protocol, Self

from .severity import Severity

_NEW = "new"
#: Word of a gate that items which were not reviewed fail.
UNREVIEWED = "unreviewed"
_RULE = (
    f"must be a severity ({', '.join(severity.value for severity in Severity)}), `new:SEVERITY`, `new` or"
    " `unreviewed`, or one of these and `unreviewed` with a comma"
)


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
    """Written as a severity (`high`), or as `new:high`; `new` is `new:low`; `unreviewed`; or two of them with a comma."""

    #: None: findings do not matter.
    least: Severity | None
    #: True: only findings that are new count.
    new_only: bool = False
    #: True: an item that was not reviewed fails the run, too.
    unreviewed: bool = False

    @classmethod
    def parse(cls, text: str) -> Self:
        """Return the gate of a text.

        Raises:
            ValueError: The text is no gate; the message is a rule.
        """
        words = [word.strip() for word in text.split(",")]
        others = [word for word in words if word != UNREVIEWED]
        if len(others) > 1 or len(words) > len({*words}):
            raise ValueError(_RULE)
        if not others:
            return cls(None, unreviewed=True)
        first, colon, rest = others[0].partition(":")
        name = (rest if colon else Severity.LOW.value) if first == _NEW else others[0]
        try:
            return cls(Severity(name), new_only=first == _NEW, unreviewed=UNREVIEWED in words)
        except ValueError:
            raise ValueError(_RULE) from None

    def __str__(self) -> str:
        least = "" if self.least is None else f"{f'{_NEW}:' if self.new_only else ''}{self.least.value}"
        return ",".join(filter(None, (least, UNREVIEWED if self.unreviewed else "")))

    def fails(self, findings: Iterable[Gated]) -> bool:
        """Return whether an open finding reaches the gate."""
        return any(map(self._reaches, findings))

    def _reaches(self, finding: Gated) -> bool:
        is_counted = finding.is_open and (not self.new_only or finding.status == _NEW)
        return is_counted and self.least is not None and finding.severity.at_least(self.least)

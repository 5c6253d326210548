"""A finding: one problem that a reviewer reports in some lines of an item.

Also hashes of the lines of findings, counts by severity, and one-line summaries.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Sequence
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from ..protocol.base import NonBlank, Text
from ..severity import Severity
from ..turns.turn import Frozen

#: Characters of a rule's name, of what is said of a finding, and of what is put in place of it.
MAX_RULE = 200
MAX_MESSAGE = 4_000
MAX_SUGGESTION = 8_000
#: Characters of a path: what Linux takes.
MAX_PATH = 4_096
#: Lines of an item are counted no further.
MAX_LINE = 10**9

_NUMBERS = re.compile(r"\d+")

Line = Annotated[int, Field(ge=0, le=MAX_LINE)]


class FindingStatus(StrEnum):
    """Status of a finding compared with the previous run."""

    NEW = "new"
    STILL = "still"
    GONE = "gone"
    #: The baseline knows it.
    SUPPRESSED = "suppressed"


class Finding(Frozen):
    """One problem, and the participants who report it."""

    #: The item's path, relative to its root.
    path: Annotated[NonBlank, Field(max_length=MAX_PATH)]
    #: Lines from 1, both included; 0 and 0: the item as a whole.
    start_line: Line
    end_line: Line
    rule: Annotated[NonBlank, Field(max_length=MAX_RULE)]
    severity: Severity
    message: Annotated[NonBlank, Field(max_length=MAX_MESSAGE)]
    suggestion: Annotated[Text, Field(max_length=MAX_SUGGESTION)] = ""
    #: Participant ids of all who found it.
    agents: tuple[Text, ...] = ()
    #: Confidence of the agents, from 0 to 1.
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0
    #: Other names of the finding, from other participants who found it.
    aliases: tuple[Text, ...] = ()
    #: Hash of the first flagged line's text (`snippets.py`); empty: not known.
    snippet_sha: Text = ""
    status: FindingStatus | None = None

    @model_validator(mode="after")
    def _check_line_order(self) -> Self:
        if self.end_line < self.start_line:
            raise ValueError("end_line must not be before start_line")
        return self

    @property
    def fingerprint(self) -> str:
        """32 hexadecimal digits that stay the same when the lines move or a number in the message changes.

        Two findings alike in everything but their place share one.
        """
        identity = (self.path, self.rule.casefold(), normalise_message(self.message), self.snippet_sha)
        return hashlib.sha256(json.dumps(identity).encode()).hexdigest()[:32]

    @property
    def is_open(self) -> bool:
        """True if the finding is neither gone nor suppressed."""
        return self.status not in (FindingStatus.GONE, FindingStatus.SUPPRESSED)

    @property
    def place(self) -> str:
        """`path:line`, `path:from-to`, or the path alone."""
        if self.start_line == 0:
            return self.path
        lines = (
            str(self.start_line) if self.start_line == self.end_line else f"{self.start_line}-{self.end_line}"
        )
        return f"{self.path}:{lines}"


def normalise_message(message: str) -> str:
    """Return the content of a message, independent of its spacing, its case and the numbers in it."""
    return _NUMBERS.sub("0", " ".join(message.casefold().split()))


def count_by_severity(findings: Iterable[Finding]) -> dict[str, int]:
    """Return the number of findings by severity, most severe first; severities without findings are left out."""
    found = Counter(it.severity for it in findings)
    return {severity.value: found[severity] for severity in reversed(Severity) if found[severity]}


def format_counts(findings: Iterable[Finding]) -> str:
    """Return the same for people, such as `1 high, 2 low`; empty when there are none."""
    return ", ".join(f"{count} {severity}" for severity, count in count_by_severity(findings).items())


def snippet_sha(line: str) -> str:
    """Return 16 hexadecimal digits for a line's text, independent of the white space around and within it."""
    return hashlib.sha256(" ".join(line.split()).encode()).hexdigest()[:16]


def with_snippets(findings: Iterable[Finding], text: str) -> tuple[Finding, ...]:
    """Return findings of one item with the hashes of their lines in `text`; lines after its end become its last."""
    lines = text.split("\n")
    if len(lines) > 1 and not lines[-1]:
        lines.pop()
    return tuple(_with_snippet(finding, lines) for finding in findings)


def _with_snippet(finding: Finding, lines: Sequence[str]) -> Finding:
    start, end = (min(line, len(lines)) for line in (finding.start_line, finding.end_line))
    sha = snippet_sha(lines[start - 1]) if start else ""
    return finding.model_copy(update={"start_line": start, "end_line": end, "snippet_sha": sha})


def summarise_findings(
    findings: Sequence[Finding], *, where: Callable[[Finding], str] = lambda it: it.place
) -> str:
    """Return the verdict on some findings; empty without findings. `where` formats the place of the worst."""
    if not findings:
        return ""
    found = Counter(agent for it in findings for agent in it.agents)
    return " ".join(
        [
            f"{len(findings)} to fix: {format_counts(findings)}.",
            _worst(findings, where),
            *(f"{agent} found {count}." for agent, count in found.items()),
        ]
    )


def _worst(findings: Sequence[Finding], where: Callable[[Finding], str]) -> str:
    worst = max(findings, key=lambda it: (it.severity.rank, it.confidence, -it.start_line))
    place = (worst.path, worst.start_line)
    agreed = {agent for it in findings if (it.path, it.start_line) == place for agent in it.agents}
    also = f", found by {len(agreed)} agents" if len(agreed) > 1 else ""
    message = " ".join(worst.message.split())
    return f"Most severe: {where(worst)}{also}: {message}{'' if message[-1] in '.!?' else '.'}"

"""A finding: one problem that a reviewer reports in some lines of an item.

Also hashes of the lines of findings, counts by severity, and one-line summaries.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Self

from pydantic import Field, model_validator

from ...models.protocol.base import NonBlank, Text
from ...models.severity import Severity
from ...models.text.numbered_lines import split_lines
from ...models.text.paths import MAX_PATH
from ...models.turns.frozen import Frozen

#: Characters of a rule's name, of what is said of a finding, and of what is put in place of it.
MAX_RULE = 200
MAX_MESSAGE = 4_000
MAX_SUGGESTION = 8_000
#: Characters of a quoted line, and of each line of an excerpt.
MAX_QUOTE = 500
#: Lines of an excerpt before and after the flagged lines, and in all.
EXCERPT_MARGIN = 3
MAX_EXCERPT = 15
#: Lines of an item are counted no further.
MAX_LINE = 10**9

_NUMBERS = re.compile(r"\d+")

Line = Annotated[int, Field(ge=0, le=MAX_LINE)]


class FindingStatus(StrEnum):
    """Status of a finding compared with the previous run."""

    NEW = "new"
    STILL = "still"
    GONE = "gone"
    #: The baseline knows it, or a comment in the text suppresses it.
    SUPPRESSED = "suppressed"


class Category(StrEnum):
    """Kind of a defect that a model reports; if two fit, the first one."""

    #: A validation, permission, limit or guard is gone or weaker.
    REMOVED_CHECK = "removed-check"
    #: Authentication, authorisation or secrecy is wrong, or a secret is exposed.
    ACCESS = "access"
    #: Outside data reaches SQL, a shell, HTML, a path, a URL or a deserialiser.
    INJECTION = "injection"
    DATA_LOSS = "data-loss"
    ERROR_HANDLING = "error-handling"
    CONCURRENCY = "concurrency"
    WRONG_RESULT = "wrong-result"
    #: None, an empty value, an absent key or zero is not handled.
    MISSING_VALUE = "missing-value"
    #: Callers, stored data, formats or public names no longer fit, or a default changed.
    CONTRACT = "contract"
    RESOURCE = "resource"
    SLOW = "slow"
    #: A test is removed, skipped or weakened.
    TEST = "test"


class Side(StrEnum):
    """The text in which a finding's lines are counted."""

    #: The text before the change: the lines were removed.
    LEFT = "left"
    #: The present text.
    RIGHT = "right"


class Excerpt(Frozen):
    """Lines of an item around a finding, for reports."""

    #: Number of the first line, from 1.
    first_line: Annotated[int, Field(ge=1, le=MAX_LINE)]
    lines: Annotated[tuple[Text, ...], Field(max_length=MAX_EXCERPT)]


class VerifiedAs(StrEnum):
    """What a verifier did with a finding that stays."""

    KEPT = "kept"
    #: Its severity was lowered.
    LOWERED = "lowered"


class Verification(Frozen):
    """Verdict of a second reviewer who has seen the finding and the code."""

    verdict: VerifiedAs
    #: Participant id of the verifier.
    agent: Text
    reason: Annotated[Text, Field(max_length=MAX_MESSAGE)] = ""


class Suppression(Frozen):
    """A comment in the text suppresses the finding."""

    #: Why, in the words of the comment; empty: it gives no reason.
    reason: Annotated[Text, Field(max_length=MAX_MESSAGE)] = ""


class Finding(Frozen):
    """One problem, and the participants who report it."""

    #: The item's path, relative to its root.
    path: Annotated[NonBlank, Field(max_length=MAX_PATH)]
    #: Lines from 1, both included; 0 and 0: the item as a whole.
    start_line: Line
    end_line: Line
    #: Columns from 1, in characters; the end column is the one after the last flagged character. 0: not known.
    start_column: Line = 0
    end_column: Line = 0
    rule: Annotated[NonBlank, Field(max_length=MAX_RULE)]
    severity: Severity
    message: Annotated[NonBlank, Field(max_length=MAX_MESSAGE)]
    #: Why it is a problem, beyond the message.
    why: Annotated[Text, Field(max_length=MAX_MESSAGE)] = ""
    #: What to do, in words.
    suggestion: Annotated[Text, Field(max_length=MAX_SUGGESTION)] = ""
    #: Text that replaces the flagged lines, without the last line end; None: no patch is proposed.
    replacement: Annotated[Text, Field(max_length=MAX_SUGGESTION)] | None = None
    #: First flagged line as it is in the item; cut after `MAX_QUOTE` characters.
    quote: Annotated[Text, Field(max_length=MAX_QUOTE)] = ""
    excerpt: Excerpt | None = None
    #: None: no second reviewer has seen it.
    verification: Verification | None = None
    #: True: a verifier took part in its session, and gave no verdict on it.
    unverified: Annotated[bool, Field(exclude_if=lambda value: not value)] = False
    #: None: no comment in the text suppresses it.
    suppression: Suppression | None = None
    #: Participant ids of all who found it.
    agents: tuple[Text, ...] = ()
    #: Confidence of the agents, from 0 to 1.
    confidence: Annotated[float, Field(ge=0, le=1)] = 1.0
    #: Other names of the finding, from other participants who found it.
    aliases: tuple[Text, ...] = ()
    #: Hash of the first flagged line's text (`snippet_sha`); empty: not known.
    snippet_sha: Text = ""
    status: FindingStatus | None = None
    #: Kind of the defect; None: a program found it, or the model named no kind.
    category: Annotated[Category | None, Field(exclude_if=lambda value: value is None)] = None
    #: `left`: the lines are removed lines, with the numbers of the text before the change.
    side: Annotated[Side, Field(exclude_if=lambda value: value is Side.RIGHT)] = Side.RIGHT

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
    def suppressed_by(self) -> str:
        """What suppresses the finding: `the baseline`, or `a comment` with its reason; empty: nothing."""
        if self.suppression is not None:
            reason = " ".join(self.suppression.reason.split())
            return f"a comment: {reason}" if reason else "a comment"
        return "the baseline" if self.status is FindingStatus.SUPPRESSED else ""

    @property
    def full_text(self) -> str:
        """Message, reason and suggestion, each a paragraph."""
        return "\n\n".join(filter(str.strip, (self.message, self.why, self.suggestion)))

    @property
    def place(self) -> str:
        """`path:line`, `path:from-to`, or the path alone; lines that were removed are marked so."""
        if self.start_line == 0:
            return self.path
        lines = (
            str(self.start_line) if self.start_line == self.end_line else f"{self.start_line}-{self.end_line}"
        )
        return f"{self.path}:{lines}{' (removed)' if self.side is Side.LEFT else ''}"


def normalise_message(message: str) -> str:
    """Return the content of a message, independent of its spacing, its case and the numbers in it."""
    return _NUMBERS.sub("0", " ".join(message.casefold().split()))


def count_by_severity(findings: Iterable[Finding]) -> dict[str, int]:
    """Return the number of findings by severity, most severe first; severities without findings are left out."""
    counts = Counter(finding.severity for finding in findings)
    return {severity.value: counts[severity] for severity in reversed(Severity) if counts[severity]}


def format_counts(findings: Iterable[Finding]) -> str:
    """Return the same for people, such as `1 high, 2 low`; empty when there are none."""
    return ", ".join(f"{count} {severity}" for severity, count in count_by_severity(findings).items())


def snippet_sha(line: str) -> str:
    """Return 16 hexadecimal digits for a line's text, independent of the white space around and within it."""
    return hashlib.sha256(" ".join(line.split()).encode()).hexdigest()[:16]


def with_snippets(findings: Iterable[Finding], text: str) -> tuple[Finding, ...]:
    """Return findings of one item with hash, quote and excerpt of their lines; lines after its end become its last."""
    lines = dict(enumerate(split_lines(text), start=1))
    last = len(lines)
    placed = (
        finding.model_copy(
            update={"start_line": min(finding.start_line, last), "end_line": min(finding.end_line, last)}
        )
        for finding in findings
    )
    return tuple(with_shown_line(finding, lines) for finding in placed)


def with_shown_line(finding: Finding, lines: Mapping[int, str]) -> Finding:
    """Return a finding with hash, quote and excerpt of its lines, which are known by their numbers."""
    start = finding.start_line
    if start not in lines:
        return finding.model_copy(update={"snippet_sha": ""})
    where = {
        "snippet_sha": snippet_sha(lines[start]),
        "quote": lines[start][:MAX_QUOTE],
        "excerpt": excerpt_of(lines, start, finding.end_line),
    }
    return finding.model_copy(update=where)


def excerpt_of(lines: Mapping[int, str], start: int, end: int) -> Excerpt:
    """Return the known lines around `start` to `end` (both included) without gaps, cut to the maximum."""
    first = start
    while first > start - EXCERPT_MARGIN and first - 1 in lines:
        first -= 1
    last = start
    while last < min(end + EXCERPT_MARGIN, first + MAX_EXCERPT - 1) and last + 1 in lines:
        last += 1
    return Excerpt(
        first_line=first, lines=tuple(lines[index][:MAX_QUOTE] for index in range(first, last + 1))
    )


def summarise_findings(
    findings: Sequence[Finding], *, where: Callable[[Finding], str] = lambda finding: finding.place
) -> str:
    """Return the verdict on some findings; empty without findings. `where` formats the place of the worst."""
    if not findings:
        return ""
    counts = Counter(agent for finding in findings for agent in finding.agents)
    return " ".join(
        [
            f"{len(findings)} to fix: {format_counts(findings)}.",
            _worst(findings, where),
            *(f"{agent} found {count}." for agent, count in counts.items()),
        ]
    )


def _worst(findings: Sequence[Finding], where: Callable[[Finding], str]) -> str:
    worst = max(
        findings, key=lambda finding: (finding.severity.rank, finding.confidence, -finding.start_line)
    )
    location = (worst.path, worst.start_line)
    agreed = {
        agent
        for finding in findings
        if (finding.path, finding.start_line) == location
        for agent in finding.agents
    }
    also = f", found by {len(agreed)} agents" if len(agreed) > 1 else ""
    message = " ".join(worst.message.split())
    return f"Most severe: {where(worst)}{also}: {message}{'' if message[-1] in '.!?' else '.'}"

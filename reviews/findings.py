"""Equal findings: those of several reviewers are merged, and those of a baseline suppressed.

Two findings of one run are the same if they are about overlapping lines of the same path, come from different
reviewers, and have the same rule or nearly the same message. Rules of one group (`values.rules`) have the same
cause: their findings are merged on adjacent lines too, as parts of one statement, and even if one reviewer
reports several of them. A program's rule and a model's category that name the same kind of defect are merged on the
same lines. Other findings of one reviewer are never merged, because a reviewer distinguishes its own findings.

A baseline is a file of accepted findings, which are reported as suppressed. They are matched by their
fingerprints, which several findings may share, so they are counted.
"""

from __future__ import annotations

import json
from collections import Counter, defaultdict
from collections.abc import Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from ..models.errors import InvalidInput, invalid_input
from ..models.turns.frozen import Frozen
from .values.answers import UNNAMED_RULE
from .values.findings import Finding, FindingStatus, Side
from .values.identity import MIN_SIMILARITY, similarity
from .values.rules import category_of_rule, is_same_cause, normalise_rule
from .values.runs import ReviewRun

#: Lines between the places that two tools name for one small statement, such as `except` and its `pass`.
_ADJACENT = 1


def merge_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the merged findings, by path and line, each with all reviewers who found it.

    The most certain finding determines the message, the rule and the lines (on a tie the more severe, then
    the first by place). The severity is the highest of all; the rules of the others are kept as aliases.
    """
    by_text: dict[tuple[str, Side], list[Finding]] = defaultdict(list)
    for finding in findings:
        by_text[finding.path, finding.side].append(finding)
    return tuple(finding for text in sorted(by_text) for finding in _merge_path(by_text[text]))


def place_key(finding: Finding) -> tuple[str, int, int, str, str]:
    """Return the sort key of a finding: its place, then its message."""
    return (finding.path, finding.start_line, finding.end_line, finding.rule, finding.message)


def _merge_path(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the merged findings of one path; compare a group only while it may overlap later findings."""
    groups: list[_Group] = []
    near: list[_Group] = []
    for finding in sorted(findings, key=_order):
        near = [group for group in near if group.end_line >= finding.start_line - _ADJACENT]
        best = max(near, key=lambda group: group.likeness(finding), default=None)
        if best is None or best.likeness(finding) == 0:
            best = _Group()
            groups.append(best)
            near.append(best)
        best.add(finding)
    yield from sorted((group.merge() for group in groups), key=place_key)


def _order(finding: Finding) -> tuple[object, ...]:
    """Return a sort key that does not depend on the input order."""
    return (
        *place_key(finding),
        finding.agents,
        finding.confidence,
        finding.severity.rank,
        finding.unverified,
    )


class _Group:
    """Group of findings about the same problem."""

    def __init__(self) -> None:
        self.end_line = 0
        self._findings: list[Finding] = []
        self._agents: set[str] = set()
        self._places: set[tuple[str, int, int, str, str]] = set()

    def add(self, finding: Finding) -> None:
        self.end_line = max(self.end_line, finding.end_line)
        self._findings.append(finding)
        self._agents.update(finding.agents)
        self._places.add(place_key(finding))

    def likeness(self, finding: Finding) -> float:
        """Return the similarity of a finding and the group; 0: no match."""
        if not self._agents.isdisjoint(finding.agents):
            if place_key(finding) in self._places:
                return 3.0
            if not self._has_same_cause_elsewhere(finding):
                return 0.0
        near = (other for other in self._findings if _distance(finding, other) <= _ADJACENT)
        return max((_likeness(finding, other) for other in near), default=0.0)

    def _has_same_cause_elsewhere(self, finding: Finding) -> bool:
        """Return whether the finding's reviewer has reported only other rules of the same cause here."""
        mine = [other for other in self._findings if not set(other.agents).isdisjoint(finding.agents)]
        return all(other.rule != finding.rule and is_same_cause(other.rule, finding.rule) for other in mine)

    def merge(self) -> Finding:
        """Merge the findings into one."""
        best = min(
            self._findings,
            key=lambda finding: (-finding.confidence, -finding.severity.rank, place_key(finding)),
        )
        rules = {rule for finding in self._findings for rule in (finding.rule, *finding.aliases)} - {
            best.rule
        }
        categories = (finding.category for finding in self._findings)
        suggestions = (finding.suggestion for finding in self._findings if finding.suggestion)
        return best.model_copy(
            update={
                "agents": tuple(sorted(self._agents)),
                "aliases": tuple(sorted(rules)),
                "severity": max(
                    (finding.severity for finding in self._findings), key=lambda severity: severity.rank
                ),
                "suggestion": best.suggestion or next(suggestions, ""),
                "category": best.category or next(filter(None, categories), None),
                "suppression": next(
                    (finding.suppression for finding in self._findings if finding.suppression), None
                ),
            }
        )


def _distance(one: Finding, other: Finding) -> int:
    """Return 0 if the lines overlap, 1 if they are adjacent, and so on."""
    return max(one.start_line - other.end_line, other.start_line - one.end_line, 0)


def _likeness(one: Finding, other: Finding) -> float:
    shared = similarity(one.message, other.message)
    same_rule = _has_same_rule(one, other)
    if _distance(one, other):
        # Adjacent: two places of the same rule are two findings, as in a list of imports.
        return 0.5 if not same_rule and is_same_cause(one.rule, other.rule) and one.start_line else 0.0
    if same_rule:
        return 1 + shared
    if _has_same_cause(one, other) or _has_same_category(one, other):
        return 0.75 + shared / 4
    return shared if shared >= MIN_SIMILARITY else 0.0


def _has_same_cause(one: Finding, other: Finding) -> bool:
    """Return whether two findings have the same rule, or rules with the same cause; an unnamed rule has none."""
    if UNNAMED_RULE in (one.rule, other.rule):
        return False
    return _has_same_rule(one, other) or is_same_cause(one.rule, other.rule)


def _has_same_category(one: Finding, other: Finding) -> bool:
    """Return whether a model's category is that of the other finding; two rules of programs are distinguished."""
    mine, theirs = (finding.category or category_of_rule(finding.rule) for finding in (one, other))
    return bool(one.category or other.category) and mine == theirs


def _has_same_rule(one: Finding, other: Finding) -> bool:
    return normalise_rule(one.rule) == normalise_rule(other.rule) != UNNAMED_RULE


#: Number of findings that each fingerprint suppresses.
Baseline = Mapping[str, int]

#: Maximum characters of a baseline file.
MAX_BASELINE = 64_000_000


class _Entry(Frozen):
    fingerprint: Annotated[str, Field(pattern="^[0-9a-f]{32}$")]
    path: str = ""
    rule: str = ""
    message: str = ""
    count: Annotated[int, Field(ge=1, le=1_000_000)] = 1


class _File(Frozen):
    version: Literal[1]
    findings: tuple[_Entry, ...]


def read_baseline(text: str) -> Baseline:
    """Return the baseline of a file.

    Raises:
        InvalidInput: The file breaks a rule; the error names the first one.
    """
    if len(text) > MAX_BASELINE:
        raise InvalidInput("baseline", len(text), f"must have at most {MAX_BASELINE} characters")
    try:
        file = _File.model_validate_json(text)
    except ValidationError as error:
        raise invalid_input(error, "baseline") from None
    counts: Counter[str] = Counter()
    for entry in file.findings:
        counts[entry.fingerprint] += entry.count
    return counts


def baseline_of(findings: Iterable[Finding]) -> str:
    """Return the baseline file of these findings; equal findings give an equal text.

    Gone findings, and those that a comment suppresses, are left out.
    """
    counted = [
        finding
        for finding in sorted(findings, key=place_key)
        if finding.status != FindingStatus.GONE and finding.suppression is None
    ]
    counts = Counter(finding.fingerprint for finding in counted)
    first = {finding.fingerprint: finding for finding in reversed(counted)}
    entries = [
        {
            "fingerprint": fingerprint,
            "path": finding.path,
            "rule": finding.rule,
            "message": finding.message,
            "count": counts[fingerprint],
        }
        for fingerprint, finding in sorted(first.items(), key=lambda pair: place_key(pair[1]))
    ]
    return json.dumps({"version": 1, "findings": entries}, indent=2, ensure_ascii=False) + "\n"


def with_baseline(run: ReviewRun, baseline: Baseline) -> ReviewRun:
    """Return the run with the findings of the baseline suppressed, new or not."""
    left = Counter(baseline)
    findings = (
        finding.model_copy(update={"status": FindingStatus.SUPPRESSED})
        if finding.is_open and _take_known(left, finding)
        else finding
        for finding in sorted(run.findings, key=place_key)
    )
    return run.model_copy(update={"findings": tuple(findings)})


def _take_known(counts: Counter[str], finding: Finding) -> bool:
    """Take one finding of this fingerprint out of `counts`; return False if there is none left."""
    if counts[finding.fingerprint] <= 0:
        return False
    counts[finding.fingerprint] -= 1
    return True

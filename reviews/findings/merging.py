"""Merging of equal findings of several reviewers. Pure.

Two findings are the same if they are about overlapping lines of the same path, come from different reviewers,
and have the same rule or nearly the same message. Different findings of one reviewer are never merged,
because a reviewer distinguishes its own findings.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Iterable, Iterator, Sequence
from functools import lru_cache

from ...models.review.answers import UNNAMED_RULE
from ...models.review.findings import Finding, normalise_message

#: Minimum similarity of messages with the same meaning: twice the common words, divided by the words of both.
MIN_SIMILARITY = 0.6
_WORD = re.compile(r"\w+")
#: Pattern of bandit's rules, which Ruff has under the letter S. Bandit's numbers begin at 100; the numbers of
#: bugbear are below or above bandit's range.
_BANDIT = re.compile(r"[bs]([1-7]\d\d)")


def merge_findings(findings: Iterable[Finding]) -> tuple[Finding, ...]:
    """Return the merged findings, by path and line, each with all reviewers who found it.

    The most certain finding determines the message, the rule and the lines (on a tie the more severe, then
    the first by place). The severity is the highest of all; the rules of the others are kept as aliases.
    """
    by_path: dict[str, list[Finding]] = defaultdict(list)
    for finding in findings:
        by_path[finding.path].append(finding)
    return tuple(it for path in sorted(by_path) for it in _merge_path(by_path[path]))


def place_key(finding: Finding) -> tuple[str, int, int, str, str]:
    """Return the sort key of a finding: its place, then its message."""
    return (finding.path, finding.start_line, finding.end_line, finding.rule, finding.message)


def _merge_path(findings: Sequence[Finding]) -> Iterator[Finding]:
    """Yield the merged findings of one path; compare a group only while it may overlap later findings."""
    groups: list[_Group] = []
    near: list[_Group] = []
    for finding in sorted(findings, key=_order):
        near = [group for group in near if group.end_line >= finding.start_line]
        best = max(near, key=lambda group: group.likeness(finding), default=None)
        if best is None or best.likeness(finding) == 0:
            best = _Group()
            groups.append(best)
            near.append(best)
        best.add(finding)
    yield from sorted((group.merge() for group in groups), key=place_key)


def _order(finding: Finding) -> tuple[object, ...]:
    """Return a sort key that does not depend on the input order."""
    return (*place_key(finding), finding.agents, finding.confidence, finding.severity.rank)


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
            return 2.0 if place_key(finding) in self._places else 0.0
        overlapping = (it for it in self._findings if _overlaps(finding, it))
        return max((_likeness(finding, it) for it in overlapping), default=0.0)

    def merge(self) -> Finding:
        """Merge the findings into one."""
        best = min(self._findings, key=lambda it: (-it.confidence, -it.severity.rank, place_key(it)))
        rules = {rule for it in self._findings for rule in (it.rule, *it.aliases)} - {best.rule}
        suggestions = (it.suggestion for it in self._findings if it.suggestion)
        return best.model_copy(
            update={
                "agents": tuple(sorted(self._agents)),
                "aliases": tuple(sorted(rules)),
                "severity": max((it.severity for it in self._findings), key=lambda it: it.rank),
                "suggestion": best.suggestion or next(suggestions, ""),
            }
        )


def _overlaps(one: Finding, other: Finding) -> bool:
    return one.start_line <= other.end_line and other.start_line <= one.end_line


def _likeness(one: Finding, other: Finding) -> float:
    mine, theirs = _words(one.message), _words(other.message)
    shared = 2 * len(mine & theirs) / max(len(mine) + len(theirs), 1)
    rule = _rule(one)
    if rule == _rule(other) != UNNAMED_RULE:
        return 1 + shared
    return shared if shared >= MIN_SIMILARITY else 0.0


@lru_cache(maxsize=4_096)
def _words(message: str) -> frozenset[str]:
    return frozenset(_WORD.findall(normalise_message(message)))


def _rule(finding: Finding) -> str:
    """Return the rule, under the same name for Ruff and bandit."""
    rule = finding.rule.casefold()
    match = _BANDIT.fullmatch(rule)
    return f"b{match[1]}" if match else rule

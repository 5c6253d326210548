"""Identity of a finding: its place and its kind; its words count only on the same line. Pure.

The place is the path, the text of the first line, and the lines around it, so that a finding is recognised on moved
lines and on an edited line. The kind is the category that a model names, or the rule of a program.
"""

from __future__ import annotations

import re
from collections import defaultdict
from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass, field
from functools import lru_cache

from .answers import UNNAMED_RULE
from .findings import Finding, Side, normalise_message, snippet_sha
from .rules import category_of_rule, is_same_cause, normalise_rule

#: Minimum characters of a line that identifies the line beside it: a bracket does not.
MIN_CONTEXT = 6
#: Minimum similarity of messages with the same meaning: twice the common words, divided by the words of both.
MIN_SIMILARITY = 0.6
_WORD = re.compile(r"\w+")
_MAX_RULE = 80
_NOT_IN_RULE = re.compile(r"[^\w.:/+]+", re.ASCII)


@dataclass(frozen=True, slots=True)
class FindingIdentity:
    """Place and kind of a finding, as far as they are known; empty: not known."""

    path: str
    fingerprint: str
    #: First line; None: not known any more.
    line: int | None = None
    side: Side = Side.RIGHT
    #: Hash of the first line's text, and of the lines before and after the flagged ones.
    anchor: str = ""
    before: str = ""
    after: str = ""
    #: Normalised name of the rule.
    rule: str = ""
    #: Kind that a model named.
    category: str = ""
    #: Only in a run: comments have no words of their own in their marker.
    message: str = field(default="", compare=False)

    @classmethod
    def of(cls, finding: Finding) -> FindingIdentity:
        """Return the identity of a finding."""
        before, after = _neighbours(finding)
        return cls(
            path=finding.path,
            fingerprint=finding.fingerprint,
            line=finding.start_line,
            side=finding.side,
            anchor=finding.snippet_sha,
            before=before,
            after=after,
            rule=_NOT_IN_RULE.sub("-", normalise_rule(finding.rule))[:_MAX_RULE],
            category=finding.category.value if finding.category else "",
            message=finding.message,
        )

    def is_same_kind(self, other: FindingIdentity) -> bool:
        """Return whether both have the same category, or rules with the same cause."""
        if self.category and other.category:
            return self.category == other.category
        if UNNAMED_RULE in (self.rule, other.rule):
            return self.rule == other.rule
        if self.rule and is_same_cause(self.rule, other.rule):
            return True
        mine, theirs = (identity.category or category_of_rule(identity.rule) for identity in (self, other))
        return bool(self.category or other.category) and mine == theirs

    def is_on_same_text(self, other: FindingIdentity) -> bool:
        """Return whether the first lines have the same text."""
        return self.anchor == other.anchor != ""

    def is_beside_same_text(self, other: FindingIdentity) -> bool:
        """Return whether the line before or after is the same, so that both are about one edited line."""
        return self.before == other.before != "" or self.after == other.after != ""


def _neighbours(finding: Finding) -> tuple[str, str]:
    """Return the hashes of the nearest telling lines before and after a finding, as far as its excerpt has them."""
    if finding.excerpt is None:
        return "", ""
    start = finding.start_line - finding.excerpt.first_line
    end = finding.end_line - finding.excerpt.first_line + 1
    lines = finding.excerpt.lines
    return _first_hash(lines[:start][::-1] if start > 0 else ()), _first_hash(lines[end:])


def _first_hash(lines: Sequence[str]) -> str:
    line = next((line for line in lines if len(line.strip()) >= MIN_CONTEXT), "")
    return snippet_sha(line) if line else ""


def similarity(one: str, other: str) -> float:
    """Return the similarity of two messages, from 0 to 1."""
    mine, theirs = _words(one), _words(other)
    return 2 * len(mine & theirs) / max(len(mine) + len(theirs), 1)


@lru_cache(maxsize=4_096)
def _words(message: str) -> frozenset[str]:
    return frozenset(_WORD.findall(normalise_message(message)))


def _is_rephrased(one: FindingIdentity, other: FindingIdentity) -> bool:
    return one.is_same_kind(other) or similarity(one.message, other.message) >= MIN_SIMILARITY


#: Keys of identities, and the test of two that share a key (None: they are the same); the strictest first.
_STAGES: tuple[
    tuple[
        Callable[[FindingIdentity], Iterable[object]],
        Callable[[FindingIdentity, FindingIdentity], bool] | None,
    ],
    ...,
] = (
    (lambda one: [(one.fingerprint, one.line)], None),
    (lambda one: [one.fingerprint], None),
    (lambda one: filter(None, [one.anchor]), _is_rephrased),
    (lambda one: filter(all, [("before", one.before), ("after", one.after)]), FindingIdentity.is_same_kind),
)


def match_identities(
    current: Sequence[FindingIdentity],
    earlier: Sequence[FindingIdentity],
    *,
    may_rephrase: Callable[[int, int], bool] = lambda _number, _at: True,
) -> dict[int, int]:
    """Return the index of the earlier finding of each recognised finding, by its own index.

    Each earlier finding is matched once, with the nearest line first; those named first in `current` choose first.
    `may_rephrase`: whether a finding may be an earlier one in other words, by their indexes.
    """
    matches: dict[int, int] = {}
    taken: set[int] = set()
    for keys, is_same in _STAGES:
        index: defaultdict[object, list[int]] = defaultdict(list)
        for at, identity in enumerate(earlier):
            for key in keys(identity):
                index[identity.path, identity.side, key].append(at)
        for number, identity in enumerate(current):
            if number in matches:
                continue
            near = [
                at
                for key in keys(identity)
                for at in index.get((identity.path, identity.side, key), ())
                if at not in taken
                and (is_same is None or (may_rephrase(number, at) and is_same(identity, earlier[at])))
            ]
            if near:
                matches[number] = min(near, key=lambda at: (_distance(identity, earlier[at]), at))
                taken.add(matches[number])
    return matches


def _distance(one: FindingIdentity, other: FindingIdentity) -> float:
    return float("inf") if one.line is None or other.line is None else abs(one.line - other.line)

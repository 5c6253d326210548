"""Comments that suppress findings, in text of any language.

    x = load(name)  # symposia: ignore[S301] the file is our own
    // symposia: ignore[no-eval, no-var] generated
    <!-- symposia: ignore -->

A comment covers its line, and the next line if nothing else is on its own. Without rules it covers all
findings. The text after the brackets is the reason. `noqa` and `nosec` are left to their tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Sequence
from typing import NamedTuple

from .rule_groups import is_same_cause
from .values.findings import MAX_MESSAGE, Finding, Suppression

_COMMENT = re.compile(
    r"(?P<mark>#|//|--|/\*|<!--|;|%|\")[ \t]*symposia:[ \t]*ignore\b[ \t]*"
    r"(?:\[(?P<rules>[^\]\n]{0,1000})\])?[ \t]*:?[ \t]*(?P<reason>[^\n]*)",
    re.IGNORECASE,
)
_ENDS = {"/*": "*/", "<!--": "-->"}
_ANY_RULE = "*"


class InlineIgnore(NamedTuple):
    """A comment that suppresses findings."""

    #: Rules; empty: all.
    rules: tuple[str, ...]
    reason: str
    #: True: nothing else is on its line, so it covers the next line too.
    is_alone: bool

    def covers(self, finding: Finding) -> bool:
        """Return whether the finding has one of the rules, or a rule with the same cause."""
        names = (finding.rule, *finding.aliases)
        return not self.rules or any(is_same_cause(name, rule) for name in names for rule in self.rules)


def with_ignores(findings: Iterable[Finding], text: str) -> tuple[Finding, ...]:
    """Return findings of one item, those marked that a comment of its text suppresses."""
    lines = text.split("\n")
    comments = {number: it for number, line in enumerate(lines, 1) if (it := read_ignore(line)) is not None}
    return tuple(_marked(it, comments) for it in findings) if comments else tuple(findings)


def read_ignore(line: str) -> InlineIgnore | None:
    """Return the comment of a line; None: it has none."""
    # The search is quick for the many lines without one.
    if "symposia" not in line.casefold() or (found := _COMMENT.search(line)) is None:
        return None
    reason = found["reason"]
    end = _ENDS.get(found["mark"], "")
    if end:
        reason = reason.partition(end)[0]
    rules = tuple(it.strip() for it in (found["rules"] or "").split(",") if it.strip())
    after = found["reason"].partition(end)[2].strip() if end else ""
    return InlineIgnore(
        () if _ANY_RULE in rules else rules,
        reason.strip()[:MAX_MESSAGE],
        is_alone=not line[: found.start()].strip() and not after,
    )


def _marked(finding: Finding, comments: dict[int, InlineIgnore]) -> Finding:
    for comment in _near(finding, comments):
        if comment.covers(finding):
            return finding.model_copy(update={"suppression": Suppression(reason=comment.reason)})
    return finding


def _near(finding: Finding, comments: dict[int, InlineIgnore]) -> Iterator[InlineIgnore]:
    """Yield the comments on the first and the last line of a finding, and on the lines directly before it."""
    if finding.start_line == 0:
        return
    for line in dict.fromkeys((finding.start_line, finding.end_line)):
        if line in comments:
            yield comments[line]
    yield from _above(finding.start_line, comments)


def _above(start: int, comments: dict[int, InlineIgnore]) -> Sequence[InlineIgnore]:
    found: list[InlineIgnore] = []
    line = start - 1
    while line in comments and comments[line].is_alone:
        found.append(comments[line])
        line -= 1
    return found

"""Content and order of a report for people; Markdown and HTML only render it.

The code of a finding is its lines with the flagged ones marked, and its patch as a diff. Characters that are
invisible, or that change the order in which text is shown, are written as their code point, so that a report shows
what is in the file.
"""

from __future__ import annotations

import re
from collections import Counter
from collections.abc import Iterable, Iterator, Sequence
from dataclasses import dataclass
from difflib import SequenceMatcher
from functools import cached_property
from typing import NamedTuple

from ...models.severity import Severity
from ...models.text.ids import format_timestamp
from ...models.text.words import dollars
from ..findings import place_key
from ..values.code_links import line_link
from ..values.findings import Finding, FindingStatus, Side, VerifiedAs
from ..values.runs import ItemState, ReviewRun, SkippedItem
from ..values.skipped import NotReviewed, fold_by_reason

_HIDDEN = re.compile(
    "[\x00-\x08\x0b-\x1f\x7f-\x9f\u061c\u200b-\u200f\u2028-\u202e\u2060-\u206f\ufeff\ufff9-\ufffb\ud800-\udfff"
    "\U000e0000-\U000e007f]"
)


#: Code in a line of text: as many backticks after it as before it, which no backslash escapes.
_CODE = re.compile(r"(?<![`\\])(`+)(?!`)(?P<code>.+?)(?<!`)\1(?!`)", re.DOTALL)


class InlinePart(NamedTuple):
    """Part of a line of text: code, or words."""

    text: str
    is_code: bool


def inline_parts(text: str) -> Iterator[InlinePart]:
    """Yield the parts of a text; `code` in backticks is code, as in Markdown. The backticks are left out."""
    start = 0
    for match in _CODE.finditer(text):
        if match.start() > start:
            yield InlinePart(text[start : match.start()], is_code=False)
        yield InlinePart(match["code"].strip(" ") or " ", is_code=True)
        start = match.end()
    if start < len(text):
        yield InlinePart(text[start:], is_code=False)


class ExcerptLine(NamedTuple):
    """A line of an excerpt."""

    number: int
    text: str
    is_flagged: bool


class DiffLine(NamedTuple):
    """A line of a diff: `-` removed, `+` added, or a blank."""

    sign: str
    text: str


def visible_line(text: str) -> str:
    """Return one line of a file without its line end; hidden characters become `<U+XXXX>`."""
    line = text.rstrip("\r\n").replace("\n", " ")
    return _HIDDEN.sub(lambda match: f"<U+{ord(match[0]):04X}>", line)


def excerpt_lines(finding: Finding) -> tuple[ExcerptLine, ...]:
    """Return the lines around a finding; none if they are not known or it is about the whole item."""
    if finding.excerpt is None or not finding.start_line:
        return ()
    flagged = range(finding.start_line, finding.end_line + 1)
    return tuple(
        ExcerptLine(number, visible_line(line), number in flagged)
        for number, line in enumerate(finding.excerpt.lines, finding.excerpt.first_line)
    )


def replacement_diff(finding: Finding) -> tuple[DiffLine, ...]:
    """Return the proposed replacement as a diff; none without a replacement.

    If the excerpt lacks some of the replaced lines, only the new lines are returned.
    """
    if finding.replacement is None or not finding.start_line:
        return ()
    new = [visible_line(line) for line in finding.replacement.split("\n")] if finding.replacement else []
    old = [line.text for line in excerpt_lines(finding) if line.is_flagged]
    if len(old) <= finding.end_line - finding.start_line:
        return tuple(DiffLine("+", line) for line in new)
    return tuple(_diff(old, new))


def _diff(old: Sequence[str], new: Sequence[str]) -> list[DiffLine]:
    lines: list[DiffLine] = []
    for kind, first, last, start, end in SequenceMatcher(None, old, new, autojunk=False).get_opcodes():
        if kind == "equal":
            lines += (DiffLine(" ", line) for line in old[first:last])
        else:
            lines += (DiffLine("-", line) for line in old[first:last])
            lines += (DiffLine("+", line) for line in new[start:end])
    return lines


#: Names of the statuses.
STATUSES = {
    None: "found",
    FindingStatus.NEW: "new",
    FindingStatus.STILL: "still open",
    FindingStatus.GONE: "gone",
    FindingStatus.SUPPRESSED: "suppressed",
}
#: First word of the reason of items that failed.
FAILED = "failed"
_UNREVIEWED = {
    ItemState.FAILED: FAILED,
    ItemState.CANCELLED: "cancelled",
    ItemState.WAITING: "not reviewed yet",
    ItemState.RUNNING: "not reviewed yet",
}


@dataclass(frozen=True)
class ReportModel:
    """Content of a report for people."""

    run: ReviewRun

    @property
    def title(self) -> str:
        """Return the title: the root and the panel."""
        return f"Review of {self.run.root_name} by the panel {self.run.panel}"

    @cached_property
    def facts(self) -> tuple[tuple[str, str], ...]:
        """Return facts of the run, by name."""
        run = self.run
        states = Counter(
            "reviewed" if result.state is ItemState.DONE else result.state.value for result in run.results
        )
        states.update({"skipped": sum(item.count for item in run.skipped)} if run.skipped else {})
        facts = [
            ("State", run.state.value),
            ("Started", format_timestamp(run.started_at)),
            ("Ended", "" if run.ended_at is None else format_timestamp(run.ended_at)),
            ("Repository", run.repository_url),
            ("Revision", run.revision),
            ("Items", ", ".join(f"{count} {state}" for state, count in states.items()) or "none"),
            ("Tokens", str(run.usage.tokens) if run.usage.tokens else ""),
            ("Cost", dollars(run.usage.cost_micros) if run.usage.cost_micros else ""),
            ("Run", run.id),
        ]
        return tuple((name, text) for name, text in facts if text)

    @property
    def summary(self) -> tuple[str, ...]:
        """Return the results in lines: of the items, and of the findings in them."""
        return tuple(filter(None, (self.run.summary, self.run.verdict)))

    @cached_property
    def counts(self) -> tuple[tuple[str, ...], ...]:
        """Return a table with a row per severity and a column per status, header first.

        Empty without findings.
        """
        statuses = [status for status in STATUSES if any(one.status == status for one in self.run.findings)]
        if not statuses:
            return ()
        counted = Counter((finding.severity, finding.status) for finding in self.run.findings)
        rows = [
            (severity.value, *(str(counted[severity, status]) for status in statuses))
            for severity in reversed(Severity)
            if any(counted[severity, status] for status in statuses)
        ]
        return (("severity", *(STATUSES[status] for status in statuses)), *rows)

    @cached_property
    def open_by_path(self) -> tuple[tuple[str, tuple[Finding, ...]], ...]:
        """Return the open findings by path, the path with the most severe one first."""
        groups: dict[str, list[Finding]] = {}
        for finding in self.run.open_findings:
            groups.setdefault(finding.path, []).append(finding)
        worst = {
            path: max(finding.severity.rank for finding in findings) for path, findings in groups.items()
        }
        return tuple(
            (path, tuple(sorted(groups[path], key=place_key)))
            for path in sorted(groups, key=lambda path: (-worst[path], path))
        )

    @cached_property
    def gone(self) -> tuple[Finding, ...]:
        """Return the findings of the previous run that are gone."""
        return tuple(finding for finding in self.run.findings if finding.status == FindingStatus.GONE)

    @cached_property
    def suppressed(self) -> tuple[Finding, ...]:
        """Return the findings that the baseline or a comment suppresses."""
        return tuple(finding for finding in self.run.findings if finding.status == FindingStatus.SUPPRESSED)

    @cached_property
    def unreviewed(self) -> tuple[NotReviewed, ...]:
        """Return what was not reviewed, by reason."""
        return unreviewed_of(self.run)

    @cached_property
    def dropped(self) -> tuple[tuple[str, int], ...]:
        """Return the paths of items with dropped findings, and their number."""
        return tuple((result.item.path, result.dropped) for result in self.run.results if result.dropped)

    @cached_property
    def remarks(self) -> tuple[tuple[tuple[str, ...], str], ...]:
        """Return remarks about whole items, each with the paths of all its items."""
        paths_by_summary: dict[str, list[str]] = {}
        for result in self.run.results:
            if result.summary:
                paths_by_summary.setdefault(result.summary, []).append(result.item.path)
        return tuple((tuple(paths), summary) for summary, paths in paths_by_summary.items())


def number_findings(findings: Iterable[Finding]) -> Iterator[tuple[Finding, int]]:
    """Yield findings, each with its number, from 1, among those of the same fingerprint."""
    seen = Counter[str]()
    for finding in findings:
        seen[finding.fingerprint] += 1
        yield finding, seen[finding.fingerprint]


def line_link_of(run: ReviewRun, finding: Finding) -> str:
    """Return the link to the lines of a finding; empty: the code host is not known, or the lines were removed."""
    if finding.side is Side.LEFT:
        return ""
    return line_link(
        run.repository_url,
        run.revision,
        run.repository_path(finding.path),
        start=finding.start_line,
        end=finding.end_line,
    )


def lines_of(finding: Finding) -> str:
    """Return the lines of a finding, such as `3` or `3-5`; empty: it is about the whole item."""
    return finding.place.removeprefix(finding.path).removeprefix(":")


def verification_text(finding: Finding) -> str:
    """Return the verdict of the second reviewer in words; empty: there was none."""
    if finding.verification is None:
        return "Unverified: the verifier gave no valid verdict." if finding.unverified else ""
    verdict = {VerifiedAs.KEPT: "Confirmed", VerifiedAs.LOWERED: "Severity lowered"}
    text = f"{verdict[finding.verification.verdict]} by {finding.verification.agent}"
    return f"{text}: {finding.verification.reason}" if finding.verification.reason else f"{text}."


def finding_details(finding: Finding) -> str:
    """Return who found it, with which confidence, and its change since the previous run."""
    parts = [", ".join(finding.agents)]
    if finding.aliases:
        parts.append(f"also {', '.join(finding.aliases)}")
    if finding.confidence < 1:
        parts.append(f"{finding.confidence:.0%} sure")
    if finding.status is not None:
        parts.append(STATUSES[finding.status])
    return "; ".join(filter(None, parts))


def more_suffix(paths: Sequence[str]) -> str:
    """Return the number of paths after the first; empty if there are none."""
    return f" and {len(paths) - 1} more" if len(paths) > 1 else ""


def unreviewed_of(run: ReviewRun) -> tuple[NotReviewed, ...]:
    """Return what was not reviewed, by reason: failed, cancelled and waiting items, then skipped files."""
    items = [
        SkippedItem(path=result.item.path, reason=": ".join(filter(None, (reason, result.error))))
        for result in run.results
        if (reason := _UNREVIEWED.get(result.state))
    ]
    return fold_by_reason([*items, *run.skipped])

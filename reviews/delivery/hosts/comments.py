"""Bodies of the comments on a pull request, and the hidden markers by which a later delivery finds them. Pure.

A marker is the last line of a body, an HTML comment that code hosts do not show. Nothing in a finding can be the
last line, so no text of a review is taken for a marker.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass

from ....models.text.ids import format_timestamp
from ...values.findings import Finding
from ...values.runs import ItemState, ReviewRun, RunState, headline
from .diff import Anchor
from .text import fenced, is_visible, plain_text

#: Maximum characters of a summary; GitHub takes 65,536.
MAX_SUMMARY = 60_000
#: Maximum characters of a finding's message in the summary.
_MAX_LISTED_MESSAGE = 500
_FINDING = re.compile(
    r"<!-- symposia: finding (?P<series>\w{12}) (?P<fingerprint>\w{32}) (?P<state>open|gone) -->"
)
_SUMMARY = re.compile(
    r"<!-- symposia: summary (?P<series>\w{12}) (?P<started>[\w:.+-]{1,40}) (?P<run>[\w-]{36}) -->"
)
_GONE = "**No longer reported**"

#: Function that returns the language of a code block whose text can be committed in place of the lines.
SuggestionTag = Callable[[Anchor], str]


def series_of(run: ReviewRun) -> str:
    """Return the series of a run: a pull request has one summary for each root and panel."""
    return hashlib.sha256(json.dumps([run.root_name, run.panel]).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class FindingMarker:
    """Marker of a comment about a finding."""

    series: str
    fingerprint: str
    is_gone: bool = False

    def __str__(self) -> str:
        state = "gone" if self.is_gone else "open"
        return f"<!-- symposia: finding {self.series} {self.fingerprint} {state} -->"


@dataclass(frozen=True, slots=True)
class SummaryMarker:
    """Marker of a summary."""

    series: str
    #: Start of the run as a timestamp; later runs have greater ones.
    started: str
    run: str

    @classmethod
    def of(cls, run: ReviewRun) -> SummaryMarker:
        """Return the marker of a run."""
        return cls(series_of(run), format_timestamp(run.started_at), run.id)

    def __str__(self) -> str:
        return f"<!-- symposia: summary {self.series} {self.started} {self.run} -->"


def find_marker(body: str) -> FindingMarker | SummaryMarker | None:
    """Return the marker of a comment; None: it has none."""
    last = body.rstrip().rpartition("\n")[2].strip()
    if found := _FINDING.fullmatch(last):
        return FindingMarker(found["series"], found["fingerprint"], is_gone=found["state"] == "gone")
    if found := _SUMMARY.fullmatch(last):
        return SummaryMarker(found["series"], found["started"], found["run"])
    return None


def finding_body(finding: Finding, anchor: Anchor | None, *, series: str, tag: SuggestionTag) -> str:
    """Return the body of the comment about an open finding.

    Args:
        finding: The finding.
        anchor: Lines of the comment; None: they are not in the diff any more.
        series: Series of the run.
        tag: Language of a block that can be committed.
    """
    parts = [f"**{finding.severity.value}** {plain_text(finding.rule)}: {plain_text(finding.message)}"]
    parts += [plain_text(it) for it in (finding.why, finding.suggestion) if it.strip()]
    code = finding.replacement
    if code is not None and anchor is not None and anchor.is_exact and is_visible(code):
        parts.append(fenced(tag(anchor), code))
    if finding.agents:
        parts.append(f"Reported by {', '.join(map(plain_text, finding.agents))}.")
    return "\n\n".join([*parts, str(FindingMarker(series, finding.fingerprint))])


def gone_body(body: str, marker: FindingMarker, *, revision: str) -> str:
    """Return the body of the comment about a finding that is gone: what it said, below a note."""
    said = body.rstrip().rpartition("\n")[0].rstrip()
    since = f" since {plain_text(revision[:12])}" if revision else ""
    gone = FindingMarker(marker.series, marker.fingerprint, is_gone=True)
    return "\n\n".join([f"{_GONE}{since}.", said, str(gone)])


def summary_body(run: ReviewRun, elsewhere: Sequence[Finding], *, commented: int) -> str:
    """Return the body of the summary.

    Args:
        run: The run.
        elsewhere: Open findings without a comment of their own.
        commented: Number of open findings with one.
    """
    room = MAX_SUMMARY
    kept: list[str] = []
    for line in _summary_lines(run, elsewhere, commented):
        room -= len(line) + 1
        if room < 0:
            kept.append("\n…")
            break
        kept.append(line)
    return "\n".join([*kept, "", str(SummaryMarker.of(run))])


def _summary_lines(run: ReviewRun, elsewhere: Sequence[Finding], commented: int) -> Iterator[str]:
    yield f"### {plain_text(headline(run))}"
    yield ""
    if run.summary.strip():
        yield from (plain_text(run.summary), "")
    if run.verdict:
        yield from (plain_text(run.verdict), "")
    if commented:
        yield from (f"Findings with a comment on their line: {commented}.", "")
    if elsewhere:
        yield from (f"Findings without a comment on their line: {len(elsewhere)}.", "")
        yield from map(_listed, elsewhere)
        yield ""
    for result in run.results:
        if result.state is ItemState.FAILED:
            yield f"- Not reviewed: {plain_text(result.item.path)}: {plain_text(result.error)}"
    revision = f" Reviewed commit: {plain_text(run.revision[:12])}." if run.revision else ""
    state = "" if run.state is RunState.COMPLETED else f" State: {run.state.value}."
    yield f"\nReview {plain_text(run.id[:8])}.{revision}{state}"


def _listed(finding: Finding) -> str:
    message = plain_text(finding.message, most=_MAX_LISTED_MESSAGE)
    return f"- **{finding.severity.value}** {plain_text(finding.place)} {plain_text(finding.rule)}: {message}"

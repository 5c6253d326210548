"""Bodies of the comments on a pull request, and the hidden markers by which a later delivery finds them. Pure.

A marker is the last line of a body, an HTML comment that code hosts do not show. Nothing in a finding can be the
last line, so no text of a review is taken for a marker.

Text of findings stays text. Words that a code host would read as a mention, a reference, a link, a formula or an
emoji become code, which is shown as it is. An HTML entity would not do: the hosts look for mentions after they have
rendered the Markdown.
"""

from __future__ import annotations

import hashlib
import json
import re
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from itertools import groupby

from ....models.text.ids import format_timestamp
from ...reports.markdown import code_span, escape_text
from ...values.findings import Finding
from ...values.runs import ItemState, ReviewRun, RunState, headline
from .diff import Anchor

#: Maximum characters of a text in a comment, before it is escaped.
MAX_TEXT = 2_000
_SPAN = re.compile(r"((?<!`)`[^`]+`(?!`))")
#: `@name`, `#1`, `!1`, `%1`, `~label`, `&1`, `$1`, `^name`, `GH-1`, `a://b`, `www.`, `:emoji:`, `/command`.
_SPECIAL = re.compile(
    r"[@$]|[#!%~&^*]\w|\bGH-\d|://|\bwww\.|:[\w+-]+:|\[\[|^/|\b[0-9a-f]{7,64}\b", re.IGNORECASE
)


def plain_text(content: str, *, most: int = MAX_TEXT) -> str:
    """Return text in one line of Markdown that a code host shows as it is.

    Text over `most` characters is cut. Invisible characters become blanks.
    """
    line = " ".join("".join(character if character.isprintable() else " " for character in content).split())
    line = line if len(line) <= most else f"{line[: most - 1]}…"
    text = ""
    for piece in _pieces(line):
        # Two code spans side by side would be read as one.
        text += f" {piece}" if text.endswith("`") and piece.startswith("`") else piece
    return text


def _pieces(line: str) -> Iterator[str]:
    """Yield code spans and escaped text of a line."""
    for number, part in enumerate(_SPAN.split(line)):
        if number % 2:
            yield part
            continue
        words = re.split(r"( +)", part)
        for is_special, group in groupby(words, key=lambda word: bool(_SPECIAL.search(word))):
            text = "".join(group)
            yield code_span(text) if is_special else _escape(text)


def _escape(text: str) -> str:
    """Return escaped text with the blanks at both ends, which `escape_text` removes."""
    stripped = text.strip(" ")
    if not stripped:
        return text
    start = text.index(stripped)
    return f"{text[:start]}{escape_text(stripped)}{text[start + len(stripped) :]}"


def is_visible(code: str) -> bool:
    """Return whether code has no invisible character, such as one that changes the writing direction."""
    return all(character.isprintable() or character in "\n\t" for character in code)


def fenced(language: str, text: str) -> str:
    """Return a code block that its text cannot end."""
    longest = max((len(ticks) for ticks in re.findall(r"`+", text)), default=0)
    fence = "`" * max(3, longest + 1)
    return f"{fence}{language}\n{text}{chr(10) if text else ''}{fence}"


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

    @property
    def order(self) -> tuple[str, str]:
        """Order of the runs of a series."""
        return self.started, self.run

    def __str__(self) -> str:
        return f"<!-- symposia: summary {self.series} {self.started} {self.run} -->"


def find_marker(body: str) -> FindingMarker | SummaryMarker | None:
    """Return the marker of a comment; None: it has none."""
    last = body.rstrip().rpartition("\n")[2].strip()
    if match := _FINDING.fullmatch(last):
        return FindingMarker(match["series"], match["fingerprint"], is_gone=match["state"] == "gone")
    if match := _SUMMARY.fullmatch(last):
        return SummaryMarker(match["series"], match["started"], match["run"])
    return None


def finding_body(finding: Finding, anchor: Anchor | None, *, series: str, tag: SuggestionTag) -> str:
    """Return the body of the comment about an open finding; no anchor: its lines are not in the diff any more."""
    parts = [f"**{finding.severity.value}** {plain_text(finding.rule)}: {plain_text(finding.message)}"]
    parts += [plain_text(text) for text in (finding.why, finding.suggestion) if text.strip()]
    code = finding.replacement
    if code is not None and anchor is not None and anchor.is_exact and is_visible(code):
        parts.append(fenced(tag(anchor), code))
    if finding.agents:
        parts.append(f"Reported by {', '.join(map(plain_text, finding.agents))}.")
    return "\n\n".join([*parts, str(FindingMarker(series, finding.fingerprint))])


def gone_body(body: str, marker: FindingMarker, *, revision: str) -> str:
    """Return the body of the comment about a finding that is gone: what it said, below a note."""
    text = body.rstrip().rpartition("\n")[0].rstrip()
    since = f" since {plain_text(revision[:12])}" if revision else ""
    gone = FindingMarker(marker.series, marker.fingerprint, is_gone=True)
    return "\n\n".join([f"{_GONE}{since}.", text, str(gone)])


def summary_body(run: ReviewRun, elsewhere: Sequence[Finding], *, commented: int) -> str:
    """Return the summary; `elsewhere`: open findings without a comment, `commented`: number of those with one."""
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

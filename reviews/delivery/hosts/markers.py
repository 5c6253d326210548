"""Hidden markers in the comments on a pull request, by which a later delivery finds them. Pure.

A marker is the last line of a body, an HTML comment that code hosts do not show. Nothing in a finding can be the
last line, so no text of a review is taken for a marker. The line above it has the place and kind of the finding:
release 0.1.0, which reads the last line only, still finds its comments.
"""

from __future__ import annotations

import hashlib
import json
import re
from dataclasses import dataclass, replace

from ....models.text.ids import format_timestamp
from ...values.findings import Category, Finding, Side
from ...values.identity import FindingIdentity
from ...values.runs import ReviewRun

_FINDING = re.compile(
    r"<!-- symposia: finding (?P<series>\w{12}) (?P<fingerprint>\w{32}) (?P<state>open|gone) -->"
)
_PLACE = re.compile(
    r"<!-- symposia: place (?P<side>left|right) (?P<anchor>\w{16}|-) (?P<before>\w{16}|-) (?P<after>\w{16}|-) "
    r"(?P<rule>[\w.:/+-]{1,80}) (?P<category>[a-z-]{1,40}) -->"
)
_SUMMARY = re.compile(
    r"<!-- symposia: summary (?P<series>\w{12}) (?P<started>[\w:.+-]{1,40}) (?P<run>[\w-]{36}) -->"
)
_NONE = "-"
#: Beginning of the marker of an answer in a thread.
REPLY = "<!-- symposia: reply "
_REPLY = re.compile(re.escape(REPLY) + r"([\w=+/.-]{1,200}) -->")


def series_of(run: ReviewRun) -> str:
    """Return the series of a run: a pull request has one summary for each root and panel."""
    return hashlib.sha256(json.dumps([run.root_name, run.panel]).encode()).hexdigest()[:12]


@dataclass(frozen=True, slots=True)
class FindingMarker:
    """Marker of a comment about a finding."""

    series: str
    #: Its path and line are empty: the host knows where the comment is.
    identity: FindingIdentity
    is_gone: bool = False

    @classmethod
    def of(cls, finding: Finding, *, series: str) -> FindingMarker:
        """Return the marker of an open finding."""
        return cls(series, replace(FindingIdentity.of(finding), path="", line=None))

    def __str__(self) -> str:
        identity, state = self.identity, "gone" if self.is_gone else "open"
        marker = f"<!-- symposia: finding {self.series} {identity.fingerprint} {state} -->"
        if not identity.rule:
            return marker
        words = (identity.anchor, identity.before, identity.after, identity.rule, identity.category)
        place = " ".join(word or _NONE for word in words)
        return f"<!-- symposia: place {identity.side.value} {place} -->\n{marker}"


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
    *above, last = ["", *(line.strip() for line in body.rstrip().splitlines()[-2:])]
    if match := _FINDING.fullmatch(last):
        return FindingMarker(
            match["series"], _identity(match["fingerprint"], above[-1]), is_gone=match["state"] == "gone"
        )
    if match := _SUMMARY.fullmatch(last):
        return SummaryMarker(match["series"], match["started"], match["run"])
    return None


def _identity(fingerprint: str, line: str) -> FindingIdentity:
    """Return the identity in the line above a marker; release 0.1.0 wrote none."""
    match = _PLACE.fullmatch(line)
    if match is None:
        return FindingIdentity(path="", fingerprint=fingerprint)
    words = {name: "" if value == _NONE else value for name, value in match.groupdict().items()}
    return FindingIdentity(
        path="",
        fingerprint=fingerprint,
        side=Side(words["side"]),
        anchor=words["anchor"],
        before=words["before"],
        after=words["after"],
        rule=words["rule"],
        category=words["category"] if words["category"] in set(Category) else "",
    )


def without_marker(body: str) -> str:
    """Return a body without its hidden lines at the end."""
    lines = body.rstrip().splitlines()
    while lines and (_FINDING.fullmatch(lines[-1].strip()) or _PLACE.fullmatch(lines[-1].strip())):
        lines.pop()
    return "\n".join(lines).rstrip()


def reply_marker(comment_id: str) -> str:
    """Return the marker of an answer to a comment."""
    return f"{REPLY}{comment_id} -->"


def find_reply_marker(body: str) -> str:
    """Return the id of the comment that a body answers; empty: it is no answer."""
    match = _REPLY.fullmatch(body.rstrip().rpartition("\n")[2].strip())
    return match[1] if match else ""

"""Checks of a reviewer's findings: their quotes, the verdicts of a second reviewer, and comments that suppress them.

A model's finding must quote its line. A finding whose line or quote does not exist is dropped: it is never moved to
a line that the model did not mean. If only the number is wrong, the quote decides.

A verifier (role `verifier`) answers

    {"verdicts": [{"file": "app.py", "line": 3, "kind": "access", "verdict": "confirmed, lower, refuted or cannot-tell",
                   "severity": "low", "evidence": "...", "reason": "..."}]}

A verdict is about the findings at its line with its kind or rule, as the verifier saw them: before a quote corrects the
line. A finding without a verdict stays as it is, and so does one that is refuted without evidence.

Comments suppress findings in text of any language:

    x = load(name)  # symposia: ignore[S301] the file is our own
    // symposia: ignore[no-eval, no-var] generated
    <!-- symposia: ignore -->

A comment covers its line, and the next line if nothing else is on its own. Without rules it covers all findings. The
text after the brackets is the reason. `noqa` and `nosec` are left to their tools.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from enum import StrEnum
from types import MappingProxyType
from typing import NamedTuple

from ...models.severity import Severity
from ...models.text.numbered_lines import ShownLine, normalise_line, without_number
from .answers import read_confidence, read_entries, read_line, read_path, read_rule, read_severity, read_text
from .findings import (
    MAX_MESSAGE,
    MAX_RULE,
    Finding,
    Side,
    Suppression,
    Verification,
    VerifiedAs,
    with_shown_line,
)
from .rules import is_same_cause

#: Maximum distance of a quoted line from the line that the finding names, if the quote occurs several times.
NEAR = 3
#: Minimum characters of a quote that is only a part of its line.
_MIN_PART = 8


class CheckedFindings(NamedTuple):
    """Findings that are kept, and the number of the dropped ones."""

    findings: tuple[Finding, ...]
    dropped: int


def check_quotes(
    findings: Iterable[Finding],
    lines: Mapping[int, ShownLine],
    removed: Mapping[int, ShownLine] = MappingProxyType({}),
) -> CheckedFindings:
    """Return a model's findings that quote one of the lines to review, each at the line that it quotes.

    Args:
        findings: Findings of one file.
        lines: Its lines by number.
        removed: Its lines before a change. A finding that names the other side of its quote is corrected, too.
    """
    given = tuple(findings)
    sides = {Side.RIGHT: lines, Side.LEFT: removed}
    placed = [found for finding in given if (found := _place_on_a_side(finding, sides)) is not None]
    return CheckedFindings(tuple(placed), len(given) - len(placed))


def _place_on_a_side(finding: Finding, sides: Mapping[Side, Mapping[int, ShownLine]]) -> Finding | None:
    """Return the finding at the line that it quotes, on its side if the line is there; None: it is nowhere."""
    for side in sorted(sides, key=lambda side: side is not finding.side):
        reviewed = {
            number: normalise_line(line.text) for number, line in sides[side].items() if line.is_reviewed
        }
        placed = _place(finding, reviewed, max(sides[side], default=0))
        if placed is not None:
            changes = {"side": side} | ({"replacement": None} if side is Side.LEFT else {})
            texts = {number: line.text for number, line in sides[side].items()}
            return with_shown_line(placed.model_copy(update=changes), texts)
    return None


def cap_severity(finding: Finding) -> Finding:
    """Return a model's finding; without a verification it is at most `high`."""
    if finding.verification is not None or finding.severity is not Severity.CRITICAL:
        return finding
    return finding.model_copy(update={"severity": Severity.HIGH})


def mark_unverified(finding: Finding) -> Finding:
    """Return a finding of a session with a verifier; without a verdict it is marked as unverified."""
    return finding if finding.verification else finding.model_copy(update={"unverified": True})


def _place(finding: Finding, reviewed: Mapping[int, str], last: int) -> Finding | None:
    """Return the finding at the line that it quotes; None: there is no such line."""
    if not 1 <= finding.start_line <= last:
        return None
    # A line of code may begin as a numbered line does (`200: "OK",`), so the quote as it is comes first.
    quotes = map(normalise_line, (finding.quote, without_number(finding.quote)))
    starts = (_line_of(quote, finding.start_line, reviewed) for quote in quotes if quote)
    start = next((line for line in starts if line is not None), None)
    if start is None:
        return None
    end = finding.end_line + start - finding.start_line
    if end > last:  # the range does not exist, so neither does what the patch replaces
        return finding.model_copy(update={"start_line": start, "end_line": start, "replacement": None})
    return finding.model_copy(update={"start_line": start, "end_line": end})


def _line_of(quote: str, named: int, reviewed: Mapping[int, str]) -> int | None:
    """Return the quoted line: the named one, the nearest one near it, or the only one elsewhere."""
    numbers = [number for number, text in reviewed.items() if text == quote]
    if not numbers and len(quote) >= _MIN_PART:
        numbers = [number for number, text in reviewed.items() if quote in text]
    near = [number for number in numbers if abs(number - named) <= NEAR]
    if near:
        return min(near, key=lambda number: (abs(number - named), number))
    return numbers[0] if len(numbers) == 1 else None


#: Role id of the participant who verifies findings.
VERIFIER = "verifier"
#: Request of the judge to the verifier.
VERIFYING = "Check each finding: confirm it, lower its severity, or refute it."
#: Form of the verifier's answer.
VERDICT_FORM = """\
You check findings of others; you report none of your own. Try to refute each one: find the line, caller, type, test or \
framework rule that makes it impossible. Do not soften or rewrite.
Answer with one JSON object and nothing else: {"verdicts": [...]}, one verdict for each finding, none left out. Each has
file, line, kind  of the finding, as it was reported
verdict           confirmed: you followed the failure yourself; lower: real, but less severe; refuted: evidence makes it \
impossible; cannot-tell: reason says what you would have to see
severity          if lower: critical, high, medium, low or info
evidence          file:line and its text; a finding is not refuted without it
reason            one sentence"""


class VerdictKind(StrEnum):
    """What a verifier does with a finding."""

    KEEP = "keep"
    LOWER = "lower"
    DROP = "drop"


#: Words of verdicts. `cannot-tell` is none of them: the finding stays unverified.
_KINDS = {
    **{kind.value: kind for kind in VerdictKind},
    "confirmed": VerdictKind.KEEP,
    "refuted": VerdictKind.DROP,
}


class Verdict(NamedTuple):
    """A verdict on the findings at a line with a rule."""

    #: Path; empty: the verifier was shown one file only.
    path: str
    line: int
    rule: str
    kind: VerdictKind
    severity: Severity | None
    confidence: float | None
    reason: str
    #: Participant id of the verifier.
    agent: str


def parse_verdicts(text: str, *, agent: str, paths: Sequence[str] = ()) -> tuple[Verdict, ...]:
    """Return the verdicts in a message; entries of another form are left out. `paths`: those of the shown files."""
    verdicts = []
    for entry in read_entries(text, "verdicts"):
        word = read_text(entry, "verdict", limit=MAX_RULE).casefold()
        path = read_path(entry, paths) if len(paths) > 1 else ""
        has_evidence = word != "refuted" or read_text(entry, "evidence", limit=MAX_MESSAGE)
        if word not in _KINDS or not has_evidence or (len(paths) > 1 and not path):
            continue
        verdicts.append(
            Verdict(
                path=path,
                line=read_line(entry),
                rule=read_rule(entry, "rule", "kind").casefold(),
                kind=_KINDS[word],
                severity=None if entry.get("severity") is None else read_severity(entry["severity"]),
                confidence=None if entry.get("confidence") is None else read_confidence(entry["confidence"]),
                reason=read_text(entry, "reason", limit=MAX_MESSAGE),
                agent=agent,
            )
        )
    return tuple(verdicts)


def verify_findings(findings: Iterable[Finding], verdicts: Sequence[Verdict]) -> CheckedFindings:
    """Return the findings with the verdicts applied. Of several verdicts on a finding, the last one counts.

    Verified findings stay as they are.
    """
    given = tuple(findings)
    kept = (
        finding if finding.verification else _apply(finding, _verdict_on(finding, verdicts))
        for finding in given
    )
    left = tuple(finding for finding in kept if finding is not None)
    return CheckedFindings(left, len(given) - len(left))


def unused_verdicts(findings: Iterable[Finding], verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts that are about none of the findings."""
    given = tuple(findings)
    return tuple(verdict for verdict in verdicts if not any(_is_about(verdict, finding) for finding in given))


def _verdict_on(finding: Finding, verdicts: Sequence[Verdict]) -> Verdict | None:
    return next((verdict for verdict in reversed(verdicts) if _is_about(verdict, finding)), None)


def _is_about(verdict: Verdict, finding: Finding) -> bool:
    is_in_file = verdict.path in ("", finding.path)
    return is_in_file and (verdict.line, verdict.rule) == (finding.start_line, finding.rule.casefold())


def _apply(finding: Finding, verdict: Verdict | None) -> Finding | None:
    """Return the finding after a verdict; None: it is dropped."""
    if verdict is None:
        return finding
    if verdict.kind is VerdictKind.DROP:
        return None
    severity = finding.severity
    if verdict.kind is VerdictKind.LOWER:
        severity = _lower(severity, verdict.severity)
    is_lowered = severity is not finding.severity
    verification = Verification(
        verdict=VerifiedAs.LOWERED if is_lowered else VerifiedAs.KEPT,
        agent=verdict.agent,
        reason=verdict.reason,
    )
    confidence = finding.confidence if verdict.confidence is None else verdict.confidence
    changes = {"severity": severity, "verification": verification, "confidence": confidence}
    return finding.model_copy(update=changes)


def _lower(severity: Severity, wanted: Severity | None) -> Severity:
    """Return the wanted severity if it is lower, else the next lower one."""
    if wanted is not None and wanted.rank < severity.rank:
        return wanted
    return max(
        (level for level in Severity if level.rank < severity.rank),
        key=lambda level: level.rank,
        default=severity,
    )


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
    comments = {
        number: ignore for number, line in enumerate(lines, 1) if (ignore := read_ignore(line)) is not None
    }
    return tuple(_marked(finding, comments) for finding in findings) if comments else tuple(findings)


def read_ignore(line: str) -> InlineIgnore | None:
    """Return the comment of a line; None: it has none."""
    # The search is quick for the many lines without one.
    if "symposia" not in line.casefold() or (match := _COMMENT.search(line)) is None:
        return None
    reason = match["reason"]
    end = _ENDS.get(match["mark"], "")
    if end:
        reason = reason.partition(end)[0]
    rules = tuple(rule.strip() for rule in (match["rules"] or "").split(",") if rule.strip())
    after = match["reason"].partition(end)[2].strip() if end else ""
    return InlineIgnore(
        () if _ANY_RULE in rules else rules,
        reason.strip()[:MAX_MESSAGE],
        is_alone=not line[: match.start()].strip() and not after,
    )


def _marked(finding: Finding, comments: dict[int, InlineIgnore]) -> Finding:
    for comment in _near(finding, comments):
        if comment.covers(finding):
            return finding.model_copy(update={"suppression": Suppression(reason=comment.reason)})
    return finding


def _near(finding: Finding, comments: dict[int, InlineIgnore]) -> Iterator[InlineIgnore]:
    """Yield the comments on the first and the last line of a finding, and on the lines directly before it."""
    if finding.start_line == 0 or finding.side is Side.LEFT:
        return
    for line in dict.fromkeys((finding.start_line, finding.end_line)):
        if line in comments:
            yield comments[line]
    yield from _above(finding.start_line, comments)


def _above(start: int, comments: dict[int, InlineIgnore]) -> Sequence[InlineIgnore]:
    ignores: list[InlineIgnore] = []
    line = start - 1
    while line in comments and comments[line].is_alone:
        ignores.append(comments[line])
        line -= 1
    return ignores

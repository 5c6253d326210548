"""Verification of findings: the verdicts of a second reviewer (role `verifier`), and what they change.

    {"verdicts": [{"line": 3, "rule": "S105", "verdict": "keep, lower or drop", "severity": "low",
                   "confidence": 0.9, "reason": "..."}]}

A verdict is about the findings at its line with its rule, as the verifier saw them: before a quote corrects the
line. A finding without a verdict stays as it is.
"""

from __future__ import annotations

from collections.abc import Iterable, Sequence
from enum import StrEnum
from typing import NamedTuple

from ...models.severity import Severity
from .answers import read_confidence, read_entries, read_line, read_rule, read_severity, read_text
from .findings import MAX_MESSAGE, MAX_RULE, Finding, Verification, VerifiedAs

#: Role id of the participant who verifies findings.
VERIFIER = "verifier"
#: Request of the judge to the verifier.
VERIFYING = "Check each finding against the text: keep it, lower its severity, or drop it if it is wrong or not a problem."
#: Form of the verifier's answer.
VERDICT_FORM = (
    f"You verify the findings of the other reviewers and report none of your own. {VERIFYING} "
    'Answer with JSON and nothing else, one verdict for each finding: {"verdicts": [{"line": 3, "rule": "rule of '
    'the finding", "verdict": "keep, lower or drop", "severity": "severity after your check", "confidence": 0.9, '
    '"reason": "why, in one sentence"}]}'
)


class VerdictKind(StrEnum):
    """What a verifier does with a finding."""

    KEEP = "keep"
    LOWER = "lower"
    DROP = "drop"


_KINDS = frozenset(VerdictKind)


class Verdict(NamedTuple):
    """A verdict on the findings at a line with a rule."""

    line: int
    rule: str
    kind: VerdictKind
    severity: Severity | None
    confidence: float | None
    reason: str
    #: Participant id of the verifier.
    agent: str


class VerifiedFindings(NamedTuple):
    """Findings after verification, and the number of dropped ones."""

    findings: tuple[Finding, ...]
    dropped: int


def parse_verdicts(text: str, *, agent: str) -> tuple[Verdict, ...]:
    """Return the verdicts in a message; entries of another form are left out."""
    found = []
    for entry in read_entries(text, "verdicts"):
        word = read_text(entry, "verdict", limit=MAX_RULE).casefold()
        if word not in _KINDS:
            continue
        found.append(
            Verdict(
                line=read_line(entry),
                rule=read_rule(entry, "rule").casefold(),
                kind=VerdictKind(word),
                severity=None if entry.get("severity") is None else read_severity(entry["severity"]),
                confidence=None if entry.get("confidence") is None else read_confidence(entry["confidence"]),
                reason=read_text(entry, "reason", limit=MAX_MESSAGE),
                agent=agent,
            )
        )
    return tuple(found)


def verify_findings(findings: Iterable[Finding], verdicts: Sequence[Verdict]) -> VerifiedFindings:
    """Return the findings with the verdicts applied. Of several verdicts on a finding, the last one counts.

    Verified findings stay as they are.
    """
    given = tuple(findings)
    by_place = {(it.line, it.rule): it for it in verdicts}
    kept = (it if it.verification else _apply(it, by_place.get(_place(it))) for it in given)
    left = tuple(it for it in kept if it is not None)
    return VerifiedFindings(left, len(given) - len(left))


def unused_verdicts(findings: Iterable[Finding], verdicts: Iterable[Verdict]) -> tuple[Verdict, ...]:
    """Return the verdicts that are about none of the findings."""
    places = set(map(_place, findings))
    return tuple(it for it in verdicts if (it.line, it.rule) not in places)


def _place(finding: Finding) -> tuple[int, str]:
    return finding.start_line, finding.rule.casefold()


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
    return max((it for it in Severity if it.rank < severity.rank), key=lambda it: it.rank, default=severity)

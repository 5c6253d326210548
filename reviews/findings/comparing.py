"""Comparison of the findings of a run with the previous run and with a baseline.

Findings are matched by their fingerprints. Several findings may have the same fingerprint, so they are
counted: of three findings where there were two, two are old and one is new. A baseline is a file of accepted
findings, which are reported as suppressed.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Mapping, Sequence
from typing import Annotated, Literal

from pydantic import Field, ValidationError

from ...models.errors import InvalidInput, invalid_input
from ...models.review.findings import Finding, FindingStatus
from ...models.review.runs import Item, ItemKind, ItemState, ReviewRun
from ...models.turns.turn import Frozen
from .merging import merge_findings, place_key

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
    """Return the baseline of a file. Raises InvalidInput for its first error."""
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
    """Return the baseline file of these findings, without gone ones; equal findings give an equal text."""
    known = [it for it in sorted(findings, key=place_key) if it.status is None or it.status != "gone"]
    counts = Counter(it.fingerprint for it in known)
    first = {it.fingerprint: it for it in reversed(known)}
    entries = [
        {
            "fingerprint": fingerprint,
            "path": it.path,
            "rule": it.rule,
            "message": it.message,
            "count": counts[fingerprint],
        }
        for fingerprint, it in sorted(first.items(), key=lambda pair: place_key(pair[1]))
    ]
    return json.dumps({"version": 1, "findings": entries}, indent=2, ensure_ascii=False) + "\n"


_REVIEWED_STATES = (ItemState.DONE, ItemState.UNCHANGED)


def compare_run(
    run: ReviewRun,
    *,
    previous: Iterable[Finding] = (),
    is_whole: bool = False,
) -> ReviewRun:
    """Return the run with its findings: merged over all reviewers, each with its status.

    A finding of the previous run is gone only if its item was reviewed without finding it, or if its item no
    longer exists and the run covers the whole root (`is_whole`). In a changed item, only findings in its
    changed lines and findings about the whole item are kept.
    """
    reviewed = {it.item.path: it.item for it in run.results if it.state in _REVIEWED_STATES}
    unread = {it.item.path for it in run.results} | {it.path for it in run.skipped}

    def was_looked_at(path: str) -> bool:
        return path in reviewed or (is_whole and path not in unread)

    found = merge_findings(finding for it in run.results for finding in it.findings)
    compared = with_status(found, previous=merge_findings(previous), was_looked_at=was_looked_at)
    kept = tuple(
        it for it in compared if it.status == FindingStatus.GONE or _concerns(it, reviewed.get(it.path))
    )
    return run.model_copy(update={"findings": kept})


def with_baseline(run: ReviewRun, baseline: Baseline) -> ReviewRun:
    """Return the run with the findings of the baseline suppressed, new or not."""
    left = Counter(baseline)
    findings = (
        it.model_copy(update={"status": FindingStatus.SUPPRESSED}) if it.is_open and _take(left, it) else it
        for it in sorted(run.findings, key=place_key)
    )
    return run.model_copy(update={"findings": tuple(findings)})


def with_status(
    findings: Sequence[Finding], *, previous: Iterable[Finding], was_looked_at: Callable[[str], bool]
) -> tuple[Finding, ...]:
    """Return the findings with their status, and newly gone ones, by path and line."""
    before = [it for it in previous if it.status != FindingStatus.GONE]
    known = Counter(it.fingerprint for it in before)
    current = [_mark_new_or_still(it, known) for it in sorted(findings, key=place_key)]
    gone = _gone((it for it in before if was_looked_at(it.path)), known)
    return tuple(sorted([*current, *gone], key=place_key))


def _mark_new_or_still(finding: Finding, known: Counter[str]) -> Finding:
    status = FindingStatus.STILL if _take(known, finding) else FindingStatus.NEW
    return finding.model_copy(update={"status": status})


def _gone(before: Iterable[Finding], known: Counter[str]) -> Iterator[Finding]:
    """Yield earlier findings without a match; of equal ones, the last."""
    for finding in sorted(before, key=place_key, reverse=True):
        if _take(known, finding):
            yield finding.model_copy(update={"status": FindingStatus.GONE})


def _take(counts: Counter[str], finding: Finding) -> bool:
    """Take one finding of this fingerprint out of `counts`; return False if there is none left."""
    if counts[finding.fingerprint] <= 0:
        return False
    counts[finding.fingerprint] -= 1
    return True


def _concerns(finding: Finding, item: Item | None) -> bool:
    if item is None or item.kind is not ItemKind.CHANGE or item.changed is None or finding.start_line == 0:
        return True
    return any(finding.start_line <= last and first <= finding.end_line for first, last in item.changed)

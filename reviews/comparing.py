"""Findings of a run compared with the previous run: new, still present, or gone.

Findings of two runs are matched one by one (`values.identity`): of three equal findings where there were two, two are
old and one is new. Only models say the same in other words each time.

In a change a model may quote only changed lines, so it does not look at its earlier findings on other lines:
they are not gone. They stay in the archived result of the item, so that the next run still knows them.
"""

from __future__ import annotations

from collections.abc import Callable, Iterable, Iterator, Sequence, Set

from .findings import merge_findings, place_key
from .values.findings import Finding, FindingStatus, Side
from .values.identity import FindingIdentity, match_identities
from .values.runs import Item, ItemKind, ItemResult, ItemState, ReviewRun


def is_in_changes(finding: Finding, item: Item | None) -> bool:
    """Return whether a finding is about lines that were to be reviewed; about the whole item counts, too."""
    if item is None or not item.is_change or finding.start_line == 0:
        return True
    ranges = item.removed if finding.side is Side.LEFT else item.changed
    if ranges is None or (item.kind is ItemKind.DELETED and finding.side is Side.RIGHT):
        return True
    return any(finding.start_line <= last and first <= finding.end_line for first, last in ranges)


def was_shown(finding: Finding, item: Item | None, models: Set[str]) -> bool:
    """Return whether the reviewers of an earlier finding have looked at its lines again.

    `models`: participants who are models. Programs read the whole item. A change shows removed lines with their
    numbers in the compared revision, which may be another one than before: they do not count as looked at.
    """
    if finding.side is Side.LEFT and item is not None and item.is_change:
        return False
    return models.isdisjoint(finding.agents) or is_in_changes(finding, item)


def carry_findings(run: ReviewRun, previous: Iterable[Finding], *, models: Set[str]) -> ReviewRun:
    """Return the run with earlier findings of models outside the changed lines in the results of their items.

    Those that are reported again, in the same or in other words, are not repeated.
    """
    before: dict[str, list[Finding]] = {}
    for finding in previous:
        before.setdefault(finding.path, []).append(finding)

    def carry(result: ItemResult) -> ItemResult:
        left = [
            finding
            for finding in before.get(result.item.path, ())
            if not was_shown(finding, result.item, models)
        ]
        if not left:
            return result
        identities = ([*map(FindingIdentity.of, findings)] for findings in (result.findings, left))
        matched = set(match_identities(*identities).values())
        carried = (finding for number, finding in enumerate(left) if number not in matched)
        return result.model_copy(update={"findings": tuple(dict.fromkeys([*result.findings, *carried]))})

    return run.model_copy(update={"results": tuple(map(carry, run.results))})


_REVIEWED_STATES = (ItemState.DONE, ItemState.UNCHANGED)


def compare_run(
    run: ReviewRun,
    *,
    previous: Iterable[Finding] = (),
    is_whole: bool = False,
    models: Set[str] = frozenset(),
) -> ReviewRun:
    """Return the run with its findings: merged over all reviewers, each with its status.

    A finding of the previous run is gone only if its item was reviewed without finding it, or if its item no
    longer exists and the run covers the whole root (`is_whole`). In a changed item, only findings in its
    changed lines and findings about the whole item are kept; findings of `models` (participants) on its other
    lines are not gone, and stay in its result.
    """
    before = tuple(_follow_renames(run, previous))
    items = {result.item.path: result.item for result in run.results}
    reviewed = {result.item.path for result in run.results if result.state in _REVIEWED_STATES}
    unread = items.keys() | {item.path for item in run.skipped}

    def was_looked_at(finding: Finding) -> bool:
        path = finding.path
        if path not in reviewed:
            return is_whole and path not in unread
        return was_shown(finding, items[path], models)

    findings = merge_findings(finding for result in run.results for finding in result.findings)
    compared = with_status(
        findings, previous=merge_findings(before), was_looked_at=was_looked_at, models=models
    )
    kept = tuple(
        finding
        for finding in compared
        if finding.status == FindingStatus.GONE or is_in_changes(finding, items.get(finding.path))
    )
    return carry_findings(run, before, models=models).model_copy(update={"findings": kept})


def _follow_renames(run: ReviewRun, previous: Iterable[Finding]) -> Iterator[Finding]:
    """Yield earlier findings at the present paths of their files."""
    now = {result.item.renamed_from: result.item.path for result in run.results if result.item.renamed_from}
    for finding in previous:
        path = now.get(finding.path)
        yield finding if path is None else finding.model_copy(update={"path": path})


def with_status(
    findings: Sequence[Finding],
    *,
    previous: Iterable[Finding],
    was_looked_at: Callable[[Finding], bool],
    models: Set[str] = frozenset(),
) -> tuple[Finding, ...]:
    """Return the findings with their status, and newly gone ones, by path and line.

    A finding of `models` (participants) without a match may be an earlier one in other words.
    """
    # A finding that was suppressed is new when its comment is removed, and not gone when it is.
    before = [
        finding
        for finding in sorted(previous, key=place_key)
        if finding.status != FindingStatus.GONE and finding.suppression is None
    ]
    current = sorted(findings, key=place_key)

    def may_rephrase(number: int, at: int) -> bool:
        return not (models.isdisjoint(current[number].agents) or models.isdisjoint(before[at].agents))

    matches = match_identities(
        [*map(FindingIdentity.of, current)], [*map(FindingIdentity.of, before)], may_rephrase=may_rephrase
    )
    marked = (
        _with(finding, FindingStatus.SUPPRESSED)
        if finding.suppression is not None
        else _with(finding, FindingStatus.STILL if number in matches else FindingStatus.NEW)
        for number, finding in enumerate(current)
    )
    matched = set(matches.values())
    gone = (
        _with(finding, FindingStatus.GONE)
        for at, finding in enumerate(before)
        if at not in matched and was_looked_at(finding)
    )
    return tuple(sorted([*marked, *gone], key=place_key))


def _with(finding: Finding, status: FindingStatus) -> Finding:
    return finding.model_copy(update={"status": status})

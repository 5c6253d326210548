"""Findings of models that a review of changes leaves as they are.

In a change a model may quote only changed lines, so it does not look at its earlier findings on other lines:
they are not gone. They stay in the archived result of the item, so that the next run still knows them.
"""

from __future__ import annotations

from collections.abc import Iterable, Set

from .values.findings import Finding
from .values.runs import Item, ItemKind, ItemResult, ReviewRun


def is_in_changes(finding: Finding, item: Item | None) -> bool:
    """Return whether a finding is about lines that were to be reviewed; about the whole item counts, too."""
    if item is None or item.kind is not ItemKind.CHANGE or item.changed is None or finding.start_line == 0:
        return True
    return any(finding.start_line <= last and first <= finding.end_line for first, last in item.changed)


def was_shown(finding: Finding, item: Item | None, models: Set[str]) -> bool:
    """Return whether the reviewers of an earlier finding have looked at its lines again.

    `models`: participants who are models. Programs read the whole item.
    """
    return models.isdisjoint(finding.agents) or is_in_changes(finding, item)


def carry_findings(run: ReviewRun, previous: Iterable[Finding], *, models: Set[str]) -> ReviewRun:
    """Return the run with earlier findings of models outside the changed lines in the results of their items."""
    before: dict[str, list[Finding]] = {}
    for finding in previous:
        before.setdefault(finding.path, []).append(finding)

    def carry(result: ItemResult) -> ItemResult:
        left = [it for it in before.get(result.item.path, ()) if not was_shown(it, result.item, models)]
        return result.model_copy(update={"findings": tuple(dict.fromkeys([*result.findings, *left]))})

    return run.model_copy(update={"results": tuple(map(carry, run.results))})

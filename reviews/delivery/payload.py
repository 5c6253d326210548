"""Payload of a delivery: the reports of a run as files, and summaries for machines and people. Pure."""

from __future__ import annotations

import json
import re
from collections import Counter
from collections.abc import Callable, Iterable, Iterator, Sequence
from dataclasses import dataclass
from typing import TypeVar

from ...models.text.ids import derived_id, format_timestamp
from ...models.text.redact import one_line
from ...models.text.words import count_of
from ..reports.formats import ReportFile
from ..values.coverage import coverage_of
from ..values.findings import Finding, FindingStatus, count_by_severity
from ..values.runs import ItemState, PullRequest, ReviewRun, RunState, headline

#: Maximum bytes of a summary for machines; the least severe findings that exceed it are left out.
MAX_JSON_BYTES = 262_144
#: Maximum number of findings in a summary for people.
MAX_LISTED_FINDINGS = 20
T = TypeVar("T")
_UNUSUAL = re.compile(r"[^A-Za-z0-9._-]+")


@dataclass(frozen=True, slots=True)
class ReportPayload:
    """A run that has ended, with its reports."""

    run: ReviewRun
    reports: Sequence[ReportFile] = ()
    #: The pull request that the run reviews, if any.
    pull_request: PullRequest | None = None
    #: Number of retries of the run: each has a corrected report, which receivers must not take for a duplicate.
    retry: int = 0

    def message_id(self, delivery: str) -> str:
        """Return the id of this report for a destination; receivers detect duplicates by it."""
        parts = [self.run.id, delivery, *([f"retry {self.retry}"] if self.retry else [])]
        return derived_id("|".join(parts))


def plain_name(name: str) -> str:
    """Return a name that is one valid name in any folder and any header."""
    return _UNUSUAL.sub("-", name).strip(".-")[:100] or "x"


def has_changes(run: ReviewRun) -> bool:
    """Return whether there is a change to report: a new or gone finding, or a run that did not complete."""
    changed = (FindingStatus.NEW, FindingStatus.GONE)
    return run.state is not RunState.COMPLETED or any(finding.status in changed for finding in run.findings)


def summary_text(run: ReviewRun) -> str:
    """Return the run as plain text, for people."""
    lines = [headline(run), ""]
    if run.summary:
        lines += [run.summary, ""]
    ordered = by_weight(run.open_findings)
    for finding in ordered[:MAX_LISTED_FINDINGS]:
        status = f" ({finding.status.value})" if finding.status else ""
        lines.append(
            f"- {finding.place}: {finding.severity.value} {finding.rule}: {one_line(finding.message)}{status}"
        )
    if len(ordered) > MAX_LISTED_FINDINGS:
        lines.append(f"- and {len(ordered) - MAX_LISTED_FINDINGS} more")
    return "\n".join([*lines, "", failed_text(run)]).rstrip() + "\n"


def failed_text(run: ReviewRun) -> str:
    """Return how many items could not be reviewed; empty: none."""
    failed = sum(result.state is ItemState.FAILED for result in run.results)
    return f"{failed} of {count_of(len(run.results), 'item')} could not be reviewed." if failed else ""


def summary_json(run: ReviewRun) -> bytes:
    """Return the run as JSON, for machines.

    `findings` has the open and the gone ones, most severe first; `findings_left_out` is the number of those
    that did not fit.
    """
    fields = {
        "type": "review.ended",
        "run_id": run.id,
        "root": run.root_name,
        "panel": run.panel,
        "state": run.state.value,
        "started_at": format_timestamp(run.started_at),
        "ended_at": None if run.ended_at is None else format_timestamp(run.ended_at),
        "revision": run.revision,
        "headline": headline(run),
        "summary": run.summary,
        "items": Counter(result.state.value for result in run.results),
        "skipped": sum(item.count for item in run.skipped),
        "coverage": coverage_of(run).to_json(),
        "open": count_by_severity(run.open_findings),
        "usage": run.usage.model_dump(mode="json"),
    }
    listed = [
        finding for finding in by_weight(run.findings) if finding.status is not FindingStatus.SUPPRESSED
    ]
    entries = (finding.model_dump(mode="json") | {"fingerprint": finding.fingerprint} for finding in listed)
    room = MAX_JSON_BYTES - len(json.dumps(fields)) - 100
    kept = list(take_fitting(entries, room, lambda entry: len(json.dumps(entry)) + 2))
    return json.dumps({**fields, "findings": kept, "findings_left_out": len(listed) - len(kept)}).encode()


def take_fitting(parts: Iterable[T], room: int, size: Callable[[T], int]) -> Iterator[T]:
    """Yield the first parts whose sizes together are at most `room`."""
    for part in parts:
        room -= size(part)
        if room < 0:
            return
        yield part


def by_weight(findings: Sequence[Finding]) -> list[Finding]:
    """Return findings in the order of their severity, most severe first, then of their place."""
    return sorted(findings, key=lambda finding: (-finding.severity.rank, finding.path, finding.start_line))

"""Reviews as JSON data: the list, one run with its counts, and pages of findings and items. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import Any, TypedDict, TypeVar

from ...archive.results import ResultPage, decode_cursor, encode_cursor
from ...models.errors import InvalidInput
from ...models.severity import Severity
from ...models.text.ids import ms_from_moment
from ...reviews.state.records import BatchView
from ...reviews.values.findings import Finding, count_by_severity
from ...reviews.values.runs import ItemResult, ItemState, ListedReview, ReviewRun

#: Maximum number of reviews, findings or items per page.
MAX_REVIEWS, MAX_ENTRIES = 200, 500

T = TypeVar("T")


class ReviewDetail(TypedDict):
    """A run. Times are in milliseconds since the epoch, costs in millionths of a US dollar."""

    id: str
    root: str
    panel: str
    state: str
    #: Reason of a stop.
    reason: str
    revision: str
    started_ms: int
    ended_ms: int | None
    #: Number of items, of finished items, and of items by state.
    total: int
    settled: int
    items: dict[str, int]
    #: Number of open findings by severity, the most severe first, and of all findings by status.
    severities: dict[str, int]
    statuses: dict[str, int]
    skipped: int
    verdict: str
    summary: str
    tokens: int
    cost_micros: int


def build_review_page(page: ResultPage[ListedReview]) -> dict[str, Any]:
    """Return a page of the list as JSON data: its rows, newest first, and the cursor of the next page or None."""
    rows = [{**review.to_json(), "root": review.root_name} for review in page.items]
    return {"reviews": rows, "next": page.cursor}


def build_review(run: ReviewRun, view: BatchView | None) -> ReviewDetail:
    """Return a run as JSON data.

    Args:
        run: The run.
        view: Its progress, newer than the run; None: only the archive has it.
    """
    states = Counter(result.state.value for result in run.results)
    if view is not None:
        states = Counter({state.value: getattr(view, state.value) for state in ItemState})
    waiting = states[ItemState.WAITING.value] + states[ItemState.RUNNING.value]
    statuses = Counter(finding.status.value for finding in run.findings if finding.status is not None)
    return ReviewDetail(
        id=run.id,
        root=run.root_name,
        panel=run.panel,
        state=run.state.value if view is None or view.has_ended else view.state,
        reason="" if view is None else view.reason,
        revision=run.revision,
        started_ms=ms_from_moment(run.started_at),
        ended_ms=None if run.ended_at is None else ms_from_moment(run.ended_at),
        total=states.total(),
        settled=states.total() - waiting,
        items={name: count for name, count in states.items() if count},
        severities=count_by_severity(run.open_findings),
        statuses=dict(statuses),
        skipped=len(run.skipped),
        verdict=run.verdict,
        summary=run.summary,
        tokens=run.usage.tokens,
        cost_micros=run.usage.cost_micros,
    )


def sort_findings(findings: Sequence[Finding]) -> tuple[Finding, ...]:
    """Return findings, the most severe first, then by place."""
    return tuple(
        sorted(
            findings,
            key=lambda finding: (-finding.severity.rank, finding.path, finding.start_line, finding.rule),
        )
    )


def finding_page(
    findings: Sequence[Finding], *, severity: str, status: str, limit: int, after: str
) -> dict[str, Any]:
    """Return a page of findings.

    Args:
        findings: Sorted findings.
        severity: Only findings of this severity; empty: all.
        status: Only findings of this status; empty: all open ones.
        limit: Maximum number of findings.
        after: Cursor of the page before; empty: the first page.

    Raises:
        InvalidInput: The severity, the status or the cursor is not valid.
    """
    _check("severity", severity, list(Severity))
    _check("status", status, ["new", "still", "gone", "suppressed"])
    matching = [
        item
        for item in findings
        if (not severity or item.severity == severity) and (item.status == status if status else item.is_open)
    ]
    return _page(matching, _finding, limit, after)


def item_page(results: Sequence[ItemResult], *, state: str, limit: int, after: str) -> dict[str, Any]:
    """Return a page of items, in the order of the review.

    Args:
        results: The items.
        state: Only items in this state; empty: all.
        limit: Maximum number of items.
        after: Cursor of the page before; empty: the first page.

    Raises:
        InvalidInput: The state or the cursor is not valid.
    """
    _check("state", state, list(ItemState))
    matching = [result for result in results if not state or result.state == state]
    return _page(matching, _item, limit, after)


def _page(entries: Sequence[T], to_row: Callable[[T], Any], limit: int, after: str) -> dict[str, Any]:
    """Return some entries as JSON data, the number of all, and the cursor of the next page or None."""
    (start,) = decode_cursor(after, int) if after else (0,)
    following = encode_cursor(start + limit) if start + limit < len(entries) else None
    rows = [to_row(entry) for entry in entries[start : start + limit]]
    return {"entries": rows, "total": len(entries), "next": following}


def _check(name: str, value: str, values: Sequence[str]) -> None:
    if value and value not in values:
        raise InvalidInput(name, value, f"must be one of {', '.join(values)}")


def _finding(finding: Finding) -> dict[str, Any]:
    return finding.model_dump(mode="json")


def _item(result: ItemResult) -> dict[str, Any]:
    return {
        "path": result.item.path,
        "state": result.state.value,
        "session_id": result.session_id,
        "findings": len(result.findings),
        "error": result.error,
    }

"""Reviews: the list, one run with its findings by severity, and pages of findings and items. Pure."""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Sequence
from typing import TypedDict, TypeVar

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
RowT = TypeVar("RowT")


class ReviewRow(TypedDict):
    """A review in the list."""

    id: str
    root: str
    panel: str
    state: str
    #: ISO 8601.
    started: str
    #: Number of items by state, and of findings by status.
    items: dict[str, int]
    findings: dict[str, int]


class ReviewPage(TypedDict):
    """A page of the list, newest first."""

    reviews: list[ReviewRow]
    #: Cursor of the next page; None: this is the last one.
    next: str | None


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


class FindingRow(TypedDict):
    """A finding."""

    severity: str
    status: str | None
    path: str
    #: 0: the item as a whole.
    start_line: int
    end_line: int
    rule: str
    message: str
    suggestion: str
    agents: list[str]
    confidence: float


class ItemRow(TypedDict):
    """An item."""

    path: str
    state: str
    #: The session that reviewed it.
    session_id: str | None
    findings: int
    error: str


class EntryPage(TypedDict):
    """A page of findings or items."""

    entries: list[FindingRow] | list[ItemRow]
    #: Number of entries that match.
    total: int
    #: Cursor of the next page; None: this is the last one.
    next: str | None


def build_review_page(page: ResultPage[ListedReview]) -> ReviewPage:
    """Return a page of the list as JSON data."""
    rows = [
        ReviewRow(
            id=review.id,
            root=review.root_name,
            panel=review.panel,
            state=review.state,
            started=review.started,
            items=review.items,
            findings=review.findings,
        )
        for review in page.items
    ]
    return ReviewPage(reviews=rows, next=page.cursor)


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
) -> EntryPage:
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
    rows, following = _page(matching, _finding, limit, after)
    return EntryPage(entries=rows, total=len(matching), next=following)


def item_page(results: Sequence[ItemResult], *, state: str, limit: int, after: str) -> EntryPage:
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
    rows, following = _page(matching, _item, limit, after)
    return EntryPage(entries=rows, total=len(matching), next=following)


def _page(
    entries: Sequence[T], to_row: Callable[[T], RowT], limit: int, after: str
) -> tuple[list[RowT], str | None]:
    (start,) = decode_cursor(after, int) if after else (0,)
    rows = [to_row(entry) for entry in entries[start : start + limit]]
    return rows, encode_cursor(start + limit) if start + limit < len(entries) else None


def _check(name: str, value: str, values: Sequence[str]) -> None:
    if value and value not in values:
        raise InvalidInput(name, value, f"must be one of {', '.join(values)}")


def _finding(finding: Finding) -> FindingRow:
    return FindingRow(
        severity=finding.severity.value,
        status=None if finding.status is None else finding.status.value,
        path=finding.path,
        start_line=finding.start_line,
        end_line=finding.end_line,
        rule=finding.rule,
        message=finding.message,
        suggestion=finding.suggestion,
        agents=list(finding.agents),
        confidence=finding.confidence,
    )


def _item(result: ItemResult) -> ItemRow:
    return ItemRow(
        path=result.item.path,
        state=result.state.value,
        session_id=result.session_id,
        findings=len(result.findings),
        error=result.error,
    )

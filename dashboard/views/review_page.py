"""The page of one review: its sentence, counts, trend, and findings in groups. Pure."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from hashlib import sha256
from itertools import count

from ...models.severity import Severity
from ...models.text.words import count_of
from ...reviews.findings import place_key
from ...reviews.state.records import BatchView, Progress
from ...reviews.values.answers import UNNAMED_RULE
from ...reviews.values.findings import Finding, count_by_severity
from ...reviews.values.runs import ItemResult, ItemState, ReviewRun, TrendPoint
from .list_parts import Link
from .notices import Name, Notice
from .review_queries import FindingQuery
from .review_rows import ReviewDetail

#: Maximum number of findings per page, and of items in a list of failures, clean or skipped files.
MAX_FINDINGS, MAX_LISTED = 200, 200
#: Severities of each part of a bar of the trend, from the bottom: class -> severities.
TREND_PARTS = {"s1": ("low", "info"), "s2": ("medium",), "s4": ("critical", "high")}
#: Bars of the trend are as wide as if there were this many.
MIN_BARS = 12
#: Height of the highest bar of the trend, in percent; the rest is for its number.
_MAX_HEIGHT = 80
#: Characters of a text by which the session is searched.
_MAX_SEARCH = 60
_NOT_REVIEWED = (ItemState.FAILED, ItemState.CANCELLED)
_REVIEWED = (ItemState.DONE, ItemState.UNCHANGED)


def run_notice(review: ReviewDetail, view: BatchView | None, now_ms: int) -> Notice:
    """Return what a review does, or how it ended.

    Args:
        review: The review.
        view: Its progress; None: only the archive has it.
        now_ms: The time, in milliseconds since the epoch.
    """
    states, total = review["items"], review["total"]
    reviewed = states.get("done", 0) + states.get("unchanged", 0)
    failed = f" {states['failed']:,} failed." if states.get("failed") else ""
    lead = f"{reviewed:,} of {count_of(total, 'item', spec=',')} reviewed.{failed}"
    if failed:
        failed = "Failed items lack the findings of the reviewers that failed."
    reason = (" ", Name(review["reason"]), ".") if review["reason"] else ()
    match review["state"]:
        case "opening":
            return Notice("", ("The items are being read.",))
        case "running" | "stopping":
            stops = "It is being stopped. " if review["state"] == "stopping" else ""
            rest = () if view is None else Progress.of(view, now_ms=now_ms).cost_parts
            running = (
                (f"{count_of(states['running'], 'item')} being reviewed",) if states.get("running") else ()
            )
            parts = ", ".join((*running, *rest))
            return Notice("", (lead,), (f"{stops}{parts}{'.' if parts else ''}",))
        case "completed":
            return Notice("quiet" if review["severities"] else "good", (lead,), reason)
        case "partial":
            return Notice("warn", (lead,), (failed, *reason))
        case "cancelled":
            return Notice("quiet", ("Cancelled. ", lead), (failed, *reason))
        case state:
            return Notice("bad", (f"{state.capitalize()}. ", lead), (failed, *reason))


@dataclass(frozen=True, slots=True)
class Tile:
    """A number of findings, with a link to them."""

    link: Link
    #: Comparison with the run before.
    note: str = ""


def tiles(review: ReviewDetail, before: TrendPoint | None, query: FindingQuery, path: str) -> Iterator[Tile]:
    """Yield the numbers of findings, by severity and by status.

    Args:
        review: The review.
        before: The run before; None: there is none, or this one has not ended.
        query: What the page shows.
        path: Address of the page.
    """
    severities, statuses = review["severities"], review["statuses"]
    earlier = None if before is None else before.findings

    def tile(words: str, total: int, note: str, *, is_bad: bool = False, **filters: tuple[str, ...]) -> Tile:
        wanted = {"severity": (), "status": (), **filters}
        is_current = all(getattr(query, name) == value for name, value in wanted.items())
        css = "error-text" if is_bad and total else ""
        return Tile(Link(query.address(path, **wanted), words, total, css, is_current), note)

    def compared(*names: str) -> str:
        if earlier is None:
            return ""
        more = sum(
            severities.get(name, 0) - earlier.get(name, 0) for name in names or (*severities, *earlier)
        )
        return f"{abs(more):,} {'more' if more > 0 else 'fewer'}" if more else "as before"

    total = sum(severities.values())
    note = "" if earlier is None else f"{sum(earlier.values()):,} in the run before"
    yield tile("open findings", total, note)
    for name in ("critical", "high", "medium"):
        yield tile(name, severities.get(name, 0), compared(name), is_bad=name != "medium", severity=(name,))
    low = severities.get("low", 0) + severities.get("info", 0)
    yield tile("low and info", low, compared("low", "info"), severity=("low", "info"))
    if review["ended_ms"] is not None:
        yield tile("new", statuses.get("new", 0), "", status=("new",))
        yield tile("still open", statuses.get("still", 0), "unchanged", status=("still",))
        yield tile("gone", statuses.get("gone", 0), "since the run before", status=("gone",))
    hidden = statuses.get("suppressed", 0)
    yield tile("suppressed", hidden, "by baseline or comment", status=("suppressed",))


@dataclass(frozen=True, slots=True)
class TrendPart:
    """A rectangle of the trend, in percent of its width and height."""

    css: str
    x: float
    y: float
    width: float
    height: float


@dataclass(frozen=True, slots=True)
class TrendBar:
    """The open findings of one run, as a bar."""

    point: TrendPoint
    total: int
    parts: tuple[TrendPart, ...]
    #: Middle of the bar, and its upper end.
    x: float
    y: float


def trend_bars(trend: Sequence[TrendPoint]) -> list[TrendBar]:
    """Return the bars of some runs, the oldest first."""
    totals = [sum(point.findings.values()) for point in trend]
    highest = max(*totals, 1) if totals else 1
    step = 100 / max(len(trend), MIN_BARS)
    bars = []
    for number, (point, total) in enumerate(zip(trend, totals, strict=True)):
        parts, y = [], 100.0
        for css, names in TREND_PARTS.items():
            height = _MAX_HEIGHT * sum(point.findings.get(name, 0) for name in names) / highest
            y -= height
            parts.append(
                TrendPart(
                    css, round(step * (number + 0.15), 2), round(y, 2), round(step * 0.7, 2), round(height, 2)
                )
            )
        bars.append(TrendBar(point, total, tuple(parts), round(step * (number + 0.5), 2), round(y - 3, 2)))
    return bars


@dataclass(frozen=True, slots=True)
class Group:
    """Findings of one file, rule or severity."""

    name: str
    #: Those of the page, each with the id of its element.
    findings: tuple[tuple[str, Finding], ...]
    #: Number of all by severity, the most severe first.
    counts: dict[str, int]
    #: The result of the file; None: it is no group of a file, or the file was not reviewed.
    result: ItemResult | None
    is_open: bool

    @property
    def element(self) -> str:
        """Return the id of its element."""
        return f"group-{sha256(self.name.encode(errors='replace')).hexdigest()[:12]}"


def group_findings(run: ReviewRun, query: FindingQuery) -> tuple[list[Group], int]:
    """Return the groups of a page, the one with the most severe finding first, and the number of all findings."""
    by_name: dict[str, list[Finding]] = {}
    for finding in sorted(run.findings, key=place_key):
        if query.matches(finding):
            names = {"file": finding.path, "rule": finding.rule, "severity": finding.severity.value}
            by_name.setdefault(names[query.group], []).append(finding)
    worst = {name: max(finding.severity.rank for finding in findings) for name, findings in by_name.items()}
    results = {result.item.path: result for result in run.results} if query.group == "file" else {}
    first = (query.page - 1) * MAX_FINDINGS
    groups, at = [], 0
    seen: dict[str, Iterator[int]] = {}
    for name in sorted(by_name, key=lambda name: (-worst[name], name)):
        findings = by_name[name]
        shown = findings[max(0, first - at) : max(0, first + MAX_FINDINGS - at)]
        at += len(findings)
        if shown:
            elements = [(_element(finding, seen), finding) for finding in shown]
            is_open = not groups or worst[name] >= Severity.HIGH.rank
            groups.append(
                Group(name, tuple(elements), count_by_severity(findings), results.get(name), is_open)
            )
    return groups, at


def _element(finding: Finding, seen: dict[str, Iterator[int]]) -> str:
    """Return the id of a finding's element, the same in later runs. Findings that are alike are numbered."""
    name = f"finding-{finding.fingerprint[:12]}"
    number = next(seen.setdefault(name, count(1)))
    return name if number == 1 else f"{name}-{number}"


def session_search(finding: Finding) -> str:
    """Return a text that the message with a finding has; empty: none is sure to be there as it is.

    The message is JSON, which may write other characters as escapes.
    """
    texts = (finding.rule if finding.rule != UNNAMED_RULE else "", finding.message[:_MAX_SEARCH])
    return next(
        (text for text in texts if text and text.isascii() and text.isprintable() and not {*text} & {*'"\\'}),
        "",
    )


def failures(run: ReviewRun) -> list[ItemResult]:
    """Return the items that were not reviewed, failed ones first."""
    results = [result for result in run.results if result.state in _NOT_REVIEWED]
    return sorted(results, key=lambda result: result.state is not ItemState.FAILED)


def clean_items(run: ReviewRun) -> list[ItemResult]:
    """Return the reviewed items without an open finding."""
    paths = {finding.path for finding in run.open_findings}
    return [result for result in run.results if result.state in _REVIEWED and result.item.path not in paths]

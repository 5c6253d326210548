"""Reader of review runs, of earlier findings and cached results of items, and of trends."""

from __future__ import annotations

from collections import Counter, defaultdict
from collections.abc import Iterable, Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, func, or_, select, union

from ...archive.engine import Database
from ...models.errors import ReviewNotFound
from ...models.severity import Severity
from ...models.text.ids import timestamp_from_ms
from ...models.text.redact import one_line
from ..values.findings import Finding, FindingStatus
from ..values.runs import Item, ItemResult, ItemState, ListedReview, ReviewRun, RunState, TrendPoint
from .tables import FINDING, REVIEW_ITEM, REVIEW_RUN, cache_key, parse_findings, parse_reads, run_from_rows

#: Maximum number of items per query.
_BATCH_SIZE = 500
_REVIEWED = (ItemState.DONE.value, ItemState.UNCHANGED.value)
_CLOSED = (FindingStatus.GONE.value, FindingStatus.SUPPRESSED.value)


class ReviewReader:
    """Reader of runs. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def run(self, run_id: str) -> ReviewRun:
        """Return a run with its items and findings. Raises ReviewNotFound."""
        with self._database.reading() as connection:
            row = connection.execute(select(REVIEW_RUN).where(REVIEW_RUN.c.run_id == run_id)).one_or_none()
            if row is None:
                raise ReviewNotFound(run_id)
            parts = (
                connection.execute(select(table).where(table.c.run == row.id).order_by(table.c.position))
                for table in (REVIEW_ITEM, FINDING)
            )
            items, findings = ([entry._mapping for entry in part] for part in parts)  # noqa: SLF001 - public API
            return run_from_rows(row._mapping, items, findings)  # noqa: SLF001

    def ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        """Return the ids of runs that start with `prefix`."""
        query = select(REVIEW_RUN.c.run_id).where(REVIEW_RUN.c.run_id.startswith(prefix, autoescape=True))
        with self._database.reading() as connection:
            return list(connection.execute(query.limit(limit)).scalars())

    def listed(self, limit: int, *, until_ms: int | None = None) -> list[tuple[int, ListedReview]]:
        """Return runs with their start in milliseconds since the epoch, newest first; None: from the newest on."""
        query = _newest_first(select(REVIEW_RUN), limit)
        if until_ms is not None:
            query = query.where(REVIEW_RUN.c.started_ms <= until_ms)
        with self._database.reading() as connection:
            rows = connection.execute(query).all()
            runs = [row.id for row in rows]
            items = _counts(connection, runs, REVIEW_ITEM.c.state)
            findings = _counts(connection, runs, FINDING.c.status, FINDING.c.severity)
            failures = {
                row.run: one_line(f"{row.error} ({row.path})") for row in connection.execute(_failures(runs))
            }
        return [
            (row.started_ms, _listed(row, items[row.id], findings[row.id], failures.get(row.id, "")))
            for row in rows
        ]

    def cached_results(self, panel_sha: str, items: Iterable[Item]) -> dict[str, ItemResult]:
        """Return this panel's earlier results for items with the same text, by item key."""
        by_cache_key = {cache_key(panel_sha, item): item for item in items}
        results: dict[str, ItemResult] = {}
        rest = iter(by_cache_key)
        while some := list(islice(rest, _BATCH_SIZE)):
            with self._database.reading() as connection:
                for row in connection.execute(_newest_results(some)):
                    item = by_cache_key[row.cache_key]
                    results[item.key] = ItemResult(
                        item=item,
                        state=ItemState.UNCHANGED,
                        findings=parse_findings(row.findings),
                        session_id=row.session_id,
                        summary=row.summary,
                        reads=parse_reads(row.reads),
                    )
        return results

    def previous_findings(
        self, root: str, panel: str, *, branch: str | None = None, without: str | None = None
    ) -> tuple[Finding, ...]:
        """Return the findings of the last review of each path, except paths that have been removed since.

        Findings are neither merged nor filtered by status. `branch`: only runs of this branch. `without` is
        the id of a run to exclude.
        """
        runs = select(REVIEW_RUN.c.id).where(*_about(root, panel))
        if branch is not None:
            runs = runs.where(REVIEW_RUN.c.branch == branch)
        if without is not None:
            runs = runs.where(REVIEW_RUN.c.run_id != without)
        with self._database.reading() as connection:
            rows = connection.execute(_latest_findings(runs))
            return tuple(finding for (text,) in rows for finding in parse_findings(text))

    def trend(
        self, root: str | None = None, panel: str | None = None, *, branch: str | None = None, limit: int = 20
    ) -> list[TrendPoint]:
        """Return the last runs of a root by a panel with their findings, the oldest first.

        `root`: its name or identity. Without root, panel or branch: those of the newest run that fits.
        """
        newest = select(REVIEW_RUN)
        if root is not None:
            newest = newest.where(or_(REVIEW_RUN.c.root_name == root, REVIEW_RUN.c.root == root))
        if panel is not None:
            newest = newest.where(REVIEW_RUN.c.panel == panel)
        if branch is not None:
            newest = newest.where(REVIEW_RUN.c.branch == branch)
        with self._database.reading() as connection:
            last = connection.execute(_newest_first(newest, 1)).one_or_none()
            if last is None:
                return []
            of_panel = newest.where(*_about(last.root, last.panel))
            runs = connection.execute(_newest_first(of_panel, limit)).all()[::-1]
            counts = _counts(connection, [row.id for row in runs], FINDING.c.status, FINDING.c.severity)
        return [_trend_point(row, counts[row.id]) for row in runs]

    def last_revision(self, root: str, panel: str, scope: str) -> str | None:
        """Return the git revision of the newest completed run of a root with this scope; None: there is none."""
        query = (
            select(REVIEW_RUN.c.revision)
            .where(*_about(root, panel), REVIEW_RUN.c.scope == scope, REVIEW_RUN.c.revision != "")
            .where(REVIEW_RUN.c.state == RunState.COMPLETED.value)
        )
        with self._database.reading() as connection:
            return connection.execute(_newest_first(query, 1)).scalar()


def _about(root: str, panel: str) -> tuple[ColumnElement[bool], ...]:
    return REVIEW_RUN.c.root == root, REVIEW_RUN.c.panel == panel


def _newest_first(query: Select[Any], limit: int) -> Select[Any]:
    return query.order_by(REVIEW_RUN.c.started_ms.desc(), REVIEW_RUN.c.id.desc()).limit(limit)


def _newest_results(keys: Sequence[str]) -> Select[Any]:
    """Return the query for the newest reviewed item of each cache key."""
    table = REVIEW_ITEM
    newest = (
        select(table.c.cache_key, func.max(table.c.run).label("run"))
        .where(table.c.cache_key.in_(keys), table.c.state.in_(_REVIEWED))
        .group_by(table.c.cache_key)
        .subquery()
    )
    is_newest = and_(table.c.cache_key == newest.c.cache_key, table.c.run == newest.c.run)
    return select(
        table.c.cache_key, table.c.findings, table.c.summary, table.c.session_id, table.c.reads
    ).join(newest, is_newest)


def _latest_findings(runs: Select[Any]) -> Select[Any]:
    """Return the query for the findings of the newest item of each path in `runs`, except files removed since."""
    item, finding = REVIEW_ITEM.c, FINDING.c
    touched = union(
        select(item.path, item.run).where(item.run.in_(runs), item.state.in_(_REVIEWED)),
        select(finding.path, finding.run).where(
            finding.run.in_(runs), finding.status == FindingStatus.GONE.value
        ),
    ).subquery()
    newest = select(touched.c.path, func.max(touched.c.run).label("run")).group_by(touched.c.path).subquery()
    is_newest = and_(item.path == newest.c.path, item.run == newest.c.run)
    return select(item.findings).join(newest, is_newest).where(item.state.in_(_REVIEWED))


def _counts(
    connection: Connection, runs: Sequence[int], *columns: Any
) -> defaultdict[int, dict[tuple[str, ...], int]]:
    """Return the number of rows for each combination of values of columns of a table, by run."""
    run = columns[0].table.c.run
    query = select(run, *columns, func.count()).where(run.in_(runs)).group_by(run, *columns)
    counts: defaultdict[int, dict[tuple[str, ...], int]] = defaultdict(dict)
    for run_row, *values, count in connection.execute(query):
        counts[run_row][tuple(value or "" for value in values)] = count
    return counts


def _failures(runs: Sequence[int]) -> Select[Any]:
    """Return the query for the first failed item of each run."""
    item = REVIEW_ITEM.c
    first = (
        select(item.run, func.min(item.position).label("position"))
        .where(item.run.in_(runs), item.state == ItemState.FAILED.value)
        .group_by(item.run)
        .subquery()
    )
    is_first = and_(item.run == first.c.run, item.position == first.c.position)
    return select(item.run, item.path, item.error).join(first, is_first)


def _listed(
    run: Any, items: Mapping[tuple[str, ...], int], counts: Mapping[tuple[str, ...], int], failure: str
) -> ListedReview:
    """Return a row; `items`: number of items by state, `counts`: number of findings by status and severity."""
    statuses, severities = _split(counts)
    return ListedReview(
        id=run.run_id,
        root_name=run.root_name,
        panel=run.panel,
        state=run.state,
        started=timestamp_from_ms(run.started_ms),
        items={state: count for (state,), count in items.items()},
        findings=dict(statuses),
        severities=severities,
        tokens=run.input_tokens + run.output_tokens,
        cost_micros=run.cost_micros,
        failure=failure,
    )


def _split(counts: Mapping[tuple[str, ...], int]) -> tuple[Counter[str], dict[str, int]]:
    """Return the number of findings by status, and of open ones by severity, from those by both."""
    statuses, severities = Counter[str](), Counter[str]()
    for (status, severity), number in counts.items():
        statuses[status] += number
        if status not in _CLOSED:
            severities[severity] += number
    return statuses, {
        level.value: severities[level.value] for level in reversed(Severity) if severities[level.value]
    }


def _trend_point(run: Any, counts: Mapping[tuple[str, ...], int]) -> TrendPoint:
    """Return a point; `counts`: number of findings by status and severity."""
    statuses, severities = _split(counts)
    return TrendPoint(
        run_id=run.run_id,
        root_name=run.root_name,
        panel=run.panel,
        branch=run.branch,
        revision=run.revision,
        state=run.state,
        started_ms=run.started_ms,
        findings=severities,
        new=statuses[FindingStatus.NEW.value],
        gone=statuses[FindingStatus.GONE.value],
        suppressed=statuses[FindingStatus.SUPPRESSED.value],
    )

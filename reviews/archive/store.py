"""Reader and writer of review runs.

The reader also finds earlier findings and cached results of items. Each run is stored once, in its newest
state.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import islice
from typing import Any

from sqlalchemy import ColumnElement, Connection, Select, and_, delete, func, or_, select, union

from ...archive.engine import Database, insert_into
from ...archive.results import MAX_PAGE_SIZE, PagePosition, ResultPage
from ...models.errors import InvalidInput, ReviewNotFound
from ..values.findings import Finding, FindingStatus
from ..values.runs import Item, ItemState, ReviewRun, RunState
from .results import CachedResult, ListedRun, TrendPoint
from .tables import (
    FINDING,
    REVIEW_ITEM,
    REVIEW_RUN,
    cache_key,
    finding_rows,
    item_rows,
    parse_findings,
    parse_reads,
    run_from_rows,
    run_row,
)
from .trends import read_trend

#: Maximum number of items per query.
_BATCH_SIZE = 500
_REVIEWED = (ItemState.DONE.value, ItemState.UNCHANGED.value)


class ReviewReader:
    """Reader of runs. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def run(self, run_id: str) -> ReviewRun:
        """Return a run with its items and findings.

        Raises:
            ReviewNotFound: There is no such review.
        """
        with self._database.reading() as connection:
            row = connection.execute(select(REVIEW_RUN).where(REVIEW_RUN.c.run_id == run_id)).one_or_none()
            if row is None:
                raise ReviewNotFound(run_id)
            parts = (
                connection.execute(select(table).where(table.c.run == row.id).order_by(table.c.position))
                for table in (REVIEW_ITEM, FINDING)
            )
            items, found = ([it._mapping for it in part] for part in parts)  # noqa: SLF001 - public API
            return run_from_rows(row._mapping, items, found)  # noqa: SLF001

    def ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        """Return the ids of runs that start with `prefix`."""
        query = select(REVIEW_RUN.c.run_id).where(REVIEW_RUN.c.run_id.startswith(prefix, autoescape=True))
        with self._database.reading() as connection:
            return list(connection.execute(query.limit(limit)).scalars())

    def page(
        self,
        *,
        root_name: str | None = None,
        panel: str | None = None,
        after: str | None = None,
        limit: int = 50,
    ) -> ResultPage[ListedRun]:
        """Return runs after a cursor, newest first.

        Raises:
            InvalidInput: A bad cursor or limit.
        """
        if not 1 <= limit <= MAX_PAGE_SIZE:
            raise InvalidInput("limit", limit, f"must be from 1 to {MAX_PAGE_SIZE}")
        query = select(REVIEW_RUN).where(*_filter_by_name(root_name, panel))
        if after is not None:
            place = PagePosition.from_cursor(after)
            same = and_(REVIEW_RUN.c.started_ms == place.at_ms, REVIEW_RUN.c.id < place.row)
            query = query.where(or_(REVIEW_RUN.c.started_ms < place.at_ms, same))
        query = query.order_by(REVIEW_RUN.c.started_ms.desc(), REVIEW_RUN.c.id.desc()).limit(limit + 1)
        with self._database.reading() as connection:
            found = connection.execute(query).all()
            rows = [it.id for it in found[:limit]]
            items, findings = (
                _count_by_run(connection, it, rows) for it in (REVIEW_ITEM.c.state, FINDING.c.status)
            )
        listed = tuple(
            _to_listed_run(it, items.get(it.id, {}), findings.get(it.id, {})) for it in found[:limit]
        )
        is_more = len(found) > limit
        return ResultPage(
            listed, PagePosition(found[limit - 1].started_ms, rows[-1]).cursor() if is_more else None
        )

    def cached_results(self, panel_sha: str, items: Iterable[Item]) -> dict[str, CachedResult]:
        """Return this panel's earlier results for items with the same text, by item key."""
        keys = {cache_key(panel_sha, item): item.key for item in items}
        known: dict[str, CachedResult] = {}
        for some in _batches(keys):
            with self._database.reading() as connection:
                for row in connection.execute(_newest_results(some)):
                    known[keys[row.cache_key]] = CachedResult(
                        parse_findings(row.findings), row.summary, row.session_id, parse_reads(row.reads)
                    )
        return known

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
            found = connection.execute(_latest_findings(runs))
            return tuple(finding for (text,) in found for finding in parse_findings(text))

    def trend(
        self,
        root: str | None = None,
        panel: str | None = None,
        *,
        branch: str | None = None,
        limit: int = 20,
    ) -> list[TrendPoint]:
        """Return the last runs of a root by a panel with their findings, the oldest first.

        `root`: its name or identity. Without root, panel or branch: those of the newest run that fits.
        """
        with self._database.reading() as connection:
            return read_trend(connection, root, panel, branch=branch, limit=limit)

    def last_revision(self, root: str, panel: str, scope: str) -> str | None:
        """Return the git revision of the newest completed run of a root with this scope; None: there is none."""
        query = (
            select(REVIEW_RUN.c.revision)
            .where(*_about(root, panel), REVIEW_RUN.c.scope == scope, REVIEW_RUN.c.revision != "")
            .where(REVIEW_RUN.c.state == RunState.COMPLETED.value)
            .order_by(REVIEW_RUN.c.started_ms.desc(), REVIEW_RUN.c.id.desc())
        )
        with self._database.reading() as connection:
            return connection.execute(query.limit(1)).scalar()


def _about(root: str, panel: str) -> tuple[ColumnElement[bool], ...]:
    return REVIEW_RUN.c.root == root, REVIEW_RUN.c.panel == panel


def _filter_by_name(root_name: str | None, panel: str | None) -> Iterator[ColumnElement[bool]]:
    if root_name is not None:
        yield REVIEW_RUN.c.root_name == root_name
    if panel is not None:
        yield REVIEW_RUN.c.panel == panel


def _newest_results(keys: Sequence[str]) -> Select[Any]:
    """Return the query for the newest reviewed item of each cache key."""
    table = REVIEW_ITEM
    newest = (
        select(table.c.cache_key, func.max(table.c.run).label("run"))
        .where(table.c.cache_key.in_(keys), table.c.state.in_(_REVIEWED))
        .group_by(table.c.cache_key)
        .subquery()
    )
    same = and_(table.c.cache_key == newest.c.cache_key, table.c.run == newest.c.run)
    return select(
        table.c.cache_key, table.c.findings, table.c.summary, table.c.session_id, table.c.reads
    ).join(newest, same)


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
    same = and_(item.path == newest.c.path, item.run == newest.c.run)
    return select(item.findings).join(newest, same).where(item.state.in_(_REVIEWED))


def _count_by_run(connection: Connection, column: Any, runs: Sequence[int]) -> dict[int, dict[str, int]]:
    """Return the number of rows for each value of a column, by run."""
    table = column.table
    query = (
        select(table.c.run, column, func.count()).where(table.c.run.in_(runs)).group_by(table.c.run, column)
    )
    counts: dict[int, dict[str, int]] = {}
    for run, value, count in connection.execute(query):
        counts.setdefault(run, {})[value or ""] = count
    return counts


def _to_listed_run(row: Any, items: Mapping[str, int], findings: Mapping[str, int]) -> ListedRun:
    return ListedRun(
        run_id=row.run_id,
        root_name=row.root_name,
        panel=row.panel,
        state=row.state,
        started_ms=row.started_ms,
        ended_ms=row.ended_ms,
        items=items,
        findings=findings,
        cost_micros=row.cost_micros,
        tokens=row.input_tokens + row.output_tokens,
    )


def _batches(keys: Iterable[str]) -> Iterator[list[str]]:
    rest = iter(keys)
    while some := list(islice(rest, _BATCH_SIZE)):
        yield some


class ReviewWriter:
    """Writer of runs. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    def write(self, run: ReviewRun) -> None:
        """Write a run with its items and findings; replace an earlier version with the same id."""
        with self._database.writing() as connection:
            row = _locked(connection, run)
            for table, values in (
                (REVIEW_ITEM, item_rows(run, row)),
                (FINDING, finding_rows(run, row)),
            ):
                connection.execute(delete(table).where(table.c.run == row))
                if values:
                    connection.execute(table.insert(), values)


def _locked(connection: Connection, run: ReviewRun) -> int:
    """Insert or update the run's row, lock it for this transaction, and return its key."""
    values = run_row(run)
    insertion = insert_into(REVIEW_RUN, connection.dialect.name).values(**values)
    upsert = insertion.on_conflict_do_update(index_elements=["run_id"], set_=values)
    return int(connection.execute(upsert.returning(REVIEW_RUN.c.id)).scalar_one())

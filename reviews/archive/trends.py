"""Query for the trend of a root: the counts of findings over its last runs by one panel."""

from __future__ import annotations

from collections.abc import Mapping
from typing import Any

from sqlalchemy import Connection, Select, func, or_, select

from ...models.severity import Severity
from ..values.findings import FindingStatus
from .results import TrendPoint
from .tables import FINDING, REVIEW_RUN

_CLOSED = (FindingStatus.GONE.value, FindingStatus.SUPPRESSED.value)


def read_trend(
    connection: Connection, root: str | None, panel: str | None, *, branch: str | None, limit: int
) -> list[TrendPoint]:
    """Return the last runs of a root by a panel, the oldest first; see `ReviewReader.trend`."""
    newest = select(REVIEW_RUN)
    if root is not None:
        newest = newest.where(or_(REVIEW_RUN.c.root_name == root, REVIEW_RUN.c.root == root))
    if panel is not None:
        newest = newest.where(REVIEW_RUN.c.panel == panel)
    if branch is not None:
        newest = newest.where(REVIEW_RUN.c.branch == branch)
    last = connection.execute(_in_order(newest, 1)).one_or_none()
    if last is None:
        return []
    same = newest.where(REVIEW_RUN.c.root == last.root, REVIEW_RUN.c.panel == last.panel)
    runs = connection.execute(_in_order(same, limit)).all()[::-1]
    counts = _counts(connection, [it.id for it in runs])
    return [_point(it, counts.get(it.id, {})) for it in runs]


def _in_order(query: Select[Any], limit: int) -> Select[Any]:
    return query.order_by(REVIEW_RUN.c.started_ms.desc(), REVIEW_RUN.c.id.desc()).limit(limit)


def _counts(connection: Connection, runs: list[int]) -> dict[int, dict[tuple[str, str], int]]:
    """Return the number of findings by status and severity, by run."""
    found = FINDING.c
    query = (
        select(found.run, found.status, found.severity, func.count().label("number"))
        .where(found.run.in_(runs))
        .group_by(found.run, found.status, found.severity)
    )
    counts: dict[int, dict[tuple[str, str], int]] = {}
    for row in connection.execute(query):
        counts.setdefault(row.run, {})[row.status or "", row.severity] = row.number
    return counts


def _point(run: Any, counts: Mapping[tuple[str, str], int]) -> TrendPoint:
    def total(status: FindingStatus) -> int:
        return sum(number for (name, _), number in counts.items() if name == status.value)

    by_severity = {
        severity.value: number
        for severity in reversed(Severity)
        if (
            number := sum(
                count
                for (status, name), count in counts.items()
                if name == severity.value and status not in _CLOSED
            )
        )
    }
    return TrendPoint(
        run_id=run.run_id,
        root_name=run.root_name,
        panel=run.panel,
        branch=run.branch,
        revision=run.revision,
        state=run.state,
        started_ms=run.started_ms,
        findings=by_severity,
        new=total(FindingStatus.NEW),
        gone=total(FindingStatus.GONE),
        suppressed=total(FindingStatus.SUPPRESSED),
    )

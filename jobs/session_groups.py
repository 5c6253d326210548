"""Groups of sessions, live and archived, by agent, error, tenant or tag."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ..models.sessions.grouping import SessionGroup, add_up, groups_of
from ..models.sessions.query import SessionQuery

if TYPE_CHECKING:
    from ..archive.sessions.reader import ArchiveReader


def count_by_group(
    live: Collection[Mapping[str, Any]],
    reader: ArchiveReader | None,
    *,
    query: SessionQuery,
    now_ms: int,
) -> list[SessionGroup]:
    """Return the groups of the sessions that match, by `query.group`.

    Args:
        live: All live sessions, as `SessionQuery.fits` reads them.
        reader: The archive; None: there is none.
        query: The query.
        now_ms: Time from which ages count, in milliseconds since the epoch.

    Raises:
        ArchiveUnavailable: The archive does not answer.
    """
    groups = [
        SessionGroup(name, 1, int(failed), row["cost_micros"])
        for row in live
        if query.matches(row, now_ms=now_ms)
        for name, failed in groups_of(row, query.group)
    ]
    if reader is not None and not query.attention:
        search = reader.search_sessions(query, now_ms=now_ms, without={row["id"] for row in live})
        groups += search.groups()
    return add_up(groups, by_cost=query.sort_key == "cost", of_errors=query.group == "error")

"""Groups of sessions, live and archived, by agent, error, tenant or tag."""

from __future__ import annotations

from collections.abc import Collection, Mapping
from typing import TYPE_CHECKING, Any

from ..models.sessions.grouping import AgentCosts, SessionGroup, add_up, groups_of
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
    archived: list[SessionGroup] = []
    costs: AgentCosts = {}
    if reader is not None:
        ids = {row["id"] for row in live}
        search = reader.search_sessions(query, now_ms=now_ms, without=ids)
        # Archived sessions need no attention.
        archived, costs = [] if query.attention else search.groups(), search.agent_costs(ids)
    groups = archived + [
        group
        for row in live
        if query.matches(row, now_ms=now_ms)
        for group in groups_of(row, query.group, costs)
    ]
    return add_up(groups, by_cost=query.sort_key == "cost", of_errors=query.group == "error")

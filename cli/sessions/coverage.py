"""The line below `symposia list`: which sessions it covers; and sessions counted by group."""

from __future__ import annotations

import time
from collections.abc import Iterable
from shlex import quote

from rich.table import Table

from ...client import Client
from ...client.session_rows import AnyRow, SessionListRow, live_rows
from ...jobs.session_groups import count_by_group
from ...models.errors import RedisUnavailable
from ...models.sessions.grouping import SessionGroup
from ...models.sessions.query import SessionQuery
from ...models.sessions.query_words import cost_in_words, older_unfinished, time_in_words
from ...models.text.words import count_of, dollars
from ...state.redis.connect import check_reachable, connect
from ..common.screen import console, plain_table, printable
from .filters import MAX_LIMIT, option_of


def print_coverage(
    client: Client,
    query: SessionQuery,
    noun: str,
    *,
    found: int,
    limit: int,
    live: Iterable[AnyRow],
    participant: str | None = None,
) -> None:
    """Print on standard error how many are shown, and which sessions they are of.

    Args:
        client: The client.
        query: The query.
        noun: `session` or `group`.
        found: Number of them; one more than `limit` if not all are shown.
        limit: Maximum number that is shown.
        live: All live sessions.
        participant: Only sessions with this participant id.
    """
    where, has_redis = "live and archived", _answers(client)
    has_archive = client.archived() is not None
    if not has_archive:
        where = "live and recently ended, without an archive"
    elif not has_redis:
        where = "archived only, because Redis does not answer"
    number = count_of(min(found, limit), noun, spec=",") if found else f"No {noun}s"
    more = f"; more with --limit {min(2 * limit, MAX_LIMIT)}" if limit < min(found, MAX_LIMIT) else ""
    cost = cost_in_words(query, has_archive=has_archive)
    screen = console(stderr=True)
    screen.print(f"{number} ({time_in_words(query)}, {where}{cost}){more}.", style="dim")
    if query.since and has_redis and not query.attention:
        older = older_unfinished(query)
        if count := sum(1 for _ in live_rows(live, older, participant=participant)):
            verb = "has" if count == 1 else "have"
            sessions = count_of(count, "older session", spec=",")
            filters = {option_of(name): value for name, value in _filters(older).items()}
            if participant is not None:
                filters["--participant"] = participant
            options = " ".join(f"{name} {quote(value)}" for name, value in filters.items())
            screen.print(f"{sessions} {verb} not ended: symposia list {options}", style="dim")


def _filters(query: SessionQuery) -> dict[str, str]:
    return {name: value for name, value in query.to_params().items() if name != "sort"}


def _answers(client: Client) -> bool:
    try:
        check_reachable(connect(client.redis_url), client.redis_url)
    except RedisUnavailable:
        return False
    return True


def list_groups(client: Client, query: SessionQuery, live: Iterable[AnyRow]) -> list[SessionGroup]:
    """Return the groups of the sessions that match, by `query.group`; `live` are all live sessions.

    Raises:
        RedisUnavailable: Redis does not answer.
        ArchiveUnavailable: The archive does not answer.
    """
    rows = [row.searched() for row in live if isinstance(row, SessionListRow)]
    return count_by_group(rows, client.archived(), query=query, now_ms=round(time.time() * 1000))


def group_table(groups: list[SessionGroup], by: str) -> Table:
    """Return a table of groups, one line each."""
    numbers = ("sessions", "failed", "cost $")
    table = plain_table(*numbers, by, right=numbers)
    for group in groups:
        cost = dollars(group.cost_micros) if group.cost_micros else ""
        table.add_row(f"{group.sessions:,}", f"{group.failed:,}", cost, printable(group.name))
    return table

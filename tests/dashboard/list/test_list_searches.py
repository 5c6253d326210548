"""Open lists: changes cost no SQL, and the answer is that of a search of this moment."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator
from contextlib import asynccontextmanager
from pathlib import Path
from types import SimpleNamespace
from typing import Any

import pytest
from sqlalchemy import event

from sessions.searched import NOW_MS, write_sessions
from symposia.archive.archive import Archive
from symposia.client.aio.client import AsyncClient
from symposia.config.settings import load_settings
from symposia.dashboard.live import list_searches, session_list
from symposia.dashboard.live.list_searches import ListSearches
from symposia.dashboard.live.session_list import SessionList
from symposia.dashboard.views.collab_row import CollabRow
from symposia.dashboard.views.session_search import SearchPage, archived_row, build_groups, build_page
from symposia.models.sessions.query import SessionQuery
from symposia.workspace.sql.store import deliver_to_conversation

pytestmark = pytest.mark.leaves_keys

QUERIES = (
    SessionQuery(),
    SessionQuery(sort="-duration", per_page=7),
    SessionQuery(status=("failed", "completed"), per_page=5, page=3),
    SessionQuery(q="map", sort="title", page=9, per_page=4),
    SessionQuery(since="3d", tenant="press"),
    SessionQuery(attention=("person",)),
    SessionQuery(group="agent"),
)


@pytest.fixture
def url(tmp_path: Path) -> str:
    """An archive of sixty sessions."""
    url = f"sqlite:///{tmp_path / 'many.sqlite3'}"
    archive = Archive(url, deliver_to_conversation)
    archive.prepare()
    write_sessions(archive)
    archive.close()
    return url


@asynccontextmanager
async def searches_of(url: str, redis_url: str, folder: Path) -> AsyncIterator[tuple[ListSearches, Any]]:
    """The searches of a list of which a part is in memory; and its services, with the SQL statements."""
    settings = load_settings(redis_url=redis_url, data_dir=folder, archive=True, database_url=url)
    async with AsyncClient(settings) as client:
        services: Any = SimpleNamespace(
            client=client, sessions=SessionList(), hub=SimpleNamespace(now_ms=lambda: NOW_MS), statements=[]
        )
        yield ListSearches(services), services


async def fill(services: Any) -> list[CollabRow]:
    """Put every second session of the archive into memory; return all rows."""
    reader = await services.client.archived()
    rows = [archived_row(session) for session in reader.page(limit=100).items]
    for row in rows[::2]:
        services.sessions.put(row)
    event.listen(
        reader._database._engine, "before_cursor_execute", lambda *args: services.statements.append(args[2])
    )
    return rows


def answer(page: SearchPage) -> object:
    return [row["id"] for row in page.rows], dict(page.counts), page.total, page.covers


def changed(row: CollabRow, number: int) -> CollabRow:
    """A row with another status, title and attention."""
    shown = ("active", "failed", "completed")[number % 3]
    attention = "person" if shown == "active" else None
    return {
        **row,
        "shown": shown,
        "title": f"map {number}",
        "attention": attention,
        "updated_ms": NOW_MS + number,
    }  # type: ignore[return-value]


def test_changes_cost_no_sql_and_give_the_answer_of_a_search(
    url: str, redis_url: str, tmp_path: Path
) -> None:
    async def follow() -> None:
        async with searches_of(url, redis_url, tmp_path) as (searches, services):
            rows = await fill(services)
            for query in QUERIES:
                await asyncio.gather(*(searches.page(query) for _ in range(4)))
            # Counts, order, sessions, actors, failures; or counts and groups. Each begins a transaction.
            assert len(services.statements) <= 10 * len(QUERIES)
            for number in range(30):
                services.sessions.put(changed(rows[2 * number % 60], number))
                for query in QUERIES:
                    services.statements.clear()
                    await searches.page(query)
                    # Sessions that move to a deeper page are loaded; if they are far away, after another search.
                    assert len(services.statements) <= (0 if query.page == 1 else 10)
            reader, live = await services.client.archived(), services.sessions.rows()
            for query in QUERIES:
                expected = build_page(live, reader, query=query, now_ms=NOW_MS)
                assert answer(await searches.page(query)) == answer(expected), query
            groups, _ = await searches.groups(QUERIES[-1])
            assert groups == build_groups(live, reader, query=QUERIES[-1], now_ms=NOW_MS)[0]
            for number in range(list_searches.MAX_QUERIES):
                await searches.page(SessionQuery(q=str(number)))
            assert len(searches._searches) == list_searches.MAX_QUERIES

    asyncio.run(follow())


def test_sessions_that_leave_the_memory_stay_listed(
    url: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(session_list, "KEPT_ENDED", 3)

    async def follow() -> None:
        async with searches_of(url, redis_url, tmp_path) as (searches, services):
            rows = await fill(services)
            before = await searches.page(QUERIES[0])
            services.sessions.remove(rows[0]["id"])
            services.sessions.drop_old()
            assert len(services.sessions) < 29
            assert answer(await searches.page(QUERIES[0])) == answer(before)
            monkeypatch.setattr(list_searches, "READ_EVERY_S", 0.0)
            monkeypatch.setattr(list_searches, "_SHARE", 1e9)
            statements = len(services.statements)
            for _ in range(2):  # the changes do not wait for the archive, which is read meanwhile
                after = await searches.page(QUERIES[0])
            assert answer(after) == answer(before)
            assert len(services.statements) > statements

    asyncio.run(follow())


def test_a_lost_archive_is_tried_again(
    url: str, redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(list_searches, "RETRY_S", 0.0)

    async def follow() -> None:
        async with searches_of(url, redis_url, tmp_path) as (searches, services):
            rows = await fill(services)
            archive = tmp_path / "many.sqlite3"
            content = archive.read_bytes()
            (await services.client.archived())._database._engine.dispose()
            archive.write_bytes(b"no database" * 1_000)
            lost = await searches.page(QUERIES[0])
            assert (lost.total, lost.covers.is_partial) == (30, True)
            archive.write_bytes(content)
            again = await searches.page(QUERIES[0])
            assert (again.total, again.covers.is_partial) == (len(rows), False)

    asyncio.run(follow())

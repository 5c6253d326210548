"""Searches over the sessions in memory and in the archive: JSON, what counts cover, and a lost archive."""

from __future__ import annotations

import asyncio
from pathlib import Path
from types import SimpleNamespace

import pytest

from live import until
from servers.flower import FlowerServer
from sessions.searched import NOW_MS, write_sessions
from sessions.submitted import submit_two
from symposia.archive.archive import Archive
from symposia.client import Client
from symposia.client.aio.client import AsyncClient
from symposia.config.settings import load_settings
from symposia.dashboard.views.collab_row import CollabRow
from symposia.dashboard.views.session_search import archived_row, build_page, search_sessions
from symposia.models.sessions.query import SessionQuery
from symposia.workspace.sql.store import deliver_to_conversation

pytestmark = pytest.mark.leaves_keys


@pytest.fixture
def rows(tmp_path: Path) -> list[CollabRow]:
    """Rows of sessions of many kinds, opened in the last eight days."""
    archive = Archive(f"sqlite:///{tmp_path / 'other.sqlite3'}", deliver_to_conversation)
    archive.prepare()
    write_sessions(archive)
    rows = [archived_row(session) for session in archive.reader.page(limit=100).items]
    archive.close()
    return rows


def test_search_answers_with_counts_and_notices(flower: FlowerServer, client: Client) -> None:
    jobs = [submit_two(client, f"Line {name}", tenant="press") for name in "abc"]
    jobs[0].cancel("wrong question", by="m.park")
    jobs[1].suspend()
    path = "/api/collabs/search?tenant=press"
    until(lambda: flower.json(path)["counts"]["suspended"] == 1 and flower.json(path)["total"] == 3)
    answer = flower.json(f"{path}&status=cancelled,suspended&sort=title&per_page=1&page=9&since=7d&mode=odd")
    assert [row["title"] for row in answer["collabs"]] == ["Line b"]
    assert (answer["total"], answer["pages"], answer["page"]) == (2, 2, 2)
    counts = answer["counts"]
    assert [counts[name] for name in ("all", "active", "suspended", "cancelled", "failed")] == [3, 1, 1, 1, 0]
    assert answer["covers"]["text"].startswith("opened in the last 7 days, live and")
    (notice,) = answer["notices"]
    assert notice.startswith("mode: must be one of ")
    (row,) = flower.json(f"{path}&status=active")["collabs"]
    assert (row["shown"], row["tenant"], row["user"], row["tags"]) == ("active", "press", None, [])
    assert [who["participant"] for who in row["agents"]] == ["ann", "bob"]
    groups = flower.json("/api/collabs/search?group=tenant")["groups"]
    assert groups == [{"name": "press", "sessions": 3, "failed": 0, "cost_micros": 0}]


def test_a_wrong_value_of_the_cursor_lists_is_an_error(flower: FlowerServer) -> None:
    for path in ("/api/collabs?status=odd", "/api/collabs/archived?since=24"):
        assert flower.get(path).status == 400


@pytest.mark.parametrize(
    ("params", "text"),
    [
        ({}, "all sessions"),
        ({"since": "24h"}, "opened in the last 24 hours"),
        ({"since": "2026-01-31"}, "opened since 2026-01-31"),
        ({"since": "14d", "until": "7d"}, "opened in the last 14 days and more than 7 days ago"),
        ({"until": "2026-01-31"}, "opened before 2026-01-31"),
    ],
)
def test_counts_say_what_they_cover(params: dict[str, str], text: str) -> None:
    page = build_page([], None, query=SessionQuery(**params), now_ms=NOW_MS)
    assert page.covers.text == f"{text}, live and recently ended, without an archive"


def test_older_sessions_that_run_are_named(rows: list[CollabRow]) -> None:
    query = SessionQuery(since="3d", tenant="press", status=("failed",))
    covers = build_page(rows, None, query=query, now_ms=NOW_MS).covers
    older, notices = SessionQuery.read({name: [value] for name, value in (covers.older_params or {}).items()})
    assert (older.until, older.tenant, older.since, notices) == ("3d", "press", "", ())
    found = build_page(rows, None, query=older, now_ms=NOW_MS)
    assert found.total == covers.older_unfinished > 0
    assert {row["shown"] for row in found.rows} <= {"draft", "active", "suspended"}
    assert covers.older_text.endswith("not ended")


def test_a_lost_archive_leaves_the_sessions_in_memory(
    rows: list[CollabRow], redis_url: str, tmp_path: Path
) -> None:
    async def search() -> None:
        settings = load_settings(
            redis_url=redis_url, data_dir=tmp_path, archive=True, database_url="postgresql://127.0.0.1:1/lost"
        )
        async with AsyncClient(settings) as client:
            lists = SimpleNamespace(rows=lambda: rows)
            services = SimpleNamespace(
                client=client, sessions=lists, hub=SimpleNamespace(now_ms=lambda: NOW_MS)
            )
            page = await search_sessions(services, SessionQuery(per_page=500))
        assert (page.total, page.covers.is_partial) == (len(rows), True)
        assert page.covers.text == "all sessions, live only, because the archive does not answer"

    asyncio.run(search())

"""Fragments of pages: what a page is sent, and how many searches and rows are made for it."""

from __future__ import annotations

import asyncio
import re
from typing import Any

import pytest

from live import until
from sessions.submitted import submit_two
from symposia.dashboard.live import fragments
from symposia.dashboard.live.fragments import Fragments, SentFragments, SentPages
from symposia.dashboard.live.list_pages import ListPage, ListPages, RowCache
from symposia.dashboard.live.session_list import SessionList
from symposia.models.sessions.query import SessionQuery

ROWS = Fragments({"a": "<i>a</i>", "b": "<i>b</i>"}, {"rows": ("a", "b")})


@pytest.mark.parametrize(
    ("now", "expected"),
    [
        (ROWS, {}),
        (
            Fragments({"a": "<i>new</i>", "b": "<i>b</i>"}, ROWS.lists),
            {"html": {"a": "<i>new</i>"}, "lists": {}},
        ),
        (Fragments(ROWS.html, {"rows": ("b", "a")}), {"html": {}, "lists": {"rows": ["b", "a"]}}),
        (Fragments({"a": "<i>a</i>"}, {"rows": ("a",)}), {"html": {}, "lists": {"rows": ["a"]}}),
        (
            Fragments({**ROWS.html, "c": "<i>c</i>"}, {"rows": ("c", "a", "b")}),
            {"html": {"c": "<i>c</i>"}, "lists": {"rows": ["c", "a", "b"]}},
        ),
    ],
)
def test_only_differences_are_sent(now: Fragments, expected: dict[str, Any]):
    assert SentFragments.of(ROWS).changes(now) == expected


def test_unknown_page_gets_all_fragments(monkeypatch):
    monkeypatch.setattr(fragments, "MAX_PAGES", 2)
    pages = SentPages()
    first = pages.put(SentFragments.of(ROWS))
    assert pages.get(first).changes(ROWS) == {}
    second = pages.put(SentFragments.of(ROWS), replaces=first)
    for token in (first, "", SentPages().put(SentFragments.of(ROWS))):
        assert pages.get(token).changes(ROWS) == {"html": ROWS.html, "lists": {"rows": ["a", "b"]}}
    pages.put(SentFragments.of(ROWS))
    pages.put(SentFragments.of(ROWS))
    assert pages.get(second).versions == {}


def row(name: str, **fields: Any) -> Any:
    return {"id": name, "position": "1-0", "ended_ms": None, **fields}


def test_row_is_rendered_once_for_all_readers():
    rendered: list[str] = []
    cache = RowCache(lambda row: rendered.append(row["id"]) or f"<tr>{row['id']}</tr>")
    for shown in (row("a"), row("a"), row("b"), row("a", turns=2)):
        assert cache.html(shown) == f"<tr>{shown['id']}</tr>"
    assert rendered == ["a", "b", "a"]


def test_readers_of_a_query_share_a_search_and_see_new_rows():
    asyncio.run(read_as_many_readers())


async def read_as_many_readers() -> None:
    sessions, searched = SessionList(), []

    async def search(query: SessionQuery) -> ListPage:
        searched.append(query)
        await asyncio.sleep(0)
        return ListPage(tuple(sessions.rows()), {"tabs": f"<nav>{len(sessions)}</nav>"})

    pages = ListPages(sessions, search, lambda row: f"<tr>{row['turns']}</tr>")
    sessions.put(row("a", turns=1))
    query = SessionQuery()
    read = await asyncio.gather(*(pages.read(query) for _ in range(12)))
    assert [it.html for it in read] == [{"tabs": "<nav>1</nav>", "row-a": "<tr>1</tr>"}] * 12
    sessions.put(row("a", turns=2))
    sessions.put(row("b", turns=1))
    changed = await pages.read(query)
    assert (changed.html["row-a"], changed.lists["rows"]) == ("<tr>2</tr>", ("row-a",))
    assert len(searched) == 1
    loaded = await pages.read(query, is_new=True)
    assert (loaded.html["tabs"], loaded.lists["rows"]) == ("<nav>2</nav>", ("row-a", "row-b"))


def fragments_until(stream: Any, wanted: Any) -> Any:
    return stream.until(lambda it: it.kind == "fragments" and wanted(it.data))


@pytest.mark.long
def test_page_gets_what_changed_after_it_was_loaded(dashboard):
    flower = dashboard.flower
    path = "/collabs?q=fragment&status=active"
    before = submit_two(dashboard.client, "Fragment before", agent="human")
    until(lambda: "Fragment before" in flower.get(path).text, what="the page lists it")
    token = re.search(r'data-sent="([^"]+)"', flower.get(path).text)
    assert token
    stream_path = "/api/collabs/stream?view=collabs&q=fragment&status=active&after="
    with flower.stream(stream_path + token[1]) as stream:
        job = submit_two(dashboard.client, "Fragment <b>", agent="human")
        name = f"row-{job.id}"
        event = fragments_until(stream, lambda data: name in data["html"])
        assert "Fragment &lt;b&gt;" in event.data["html"][name]
        assert set(event.data["lists"]["rows"]) == {name, f"row-{before.id}"}
    with flower.stream(stream_path + event.id) as stream:
        job.cancel()
        event = fragments_until(stream, lambda data: name not in data["lists"].get("rows", [name]))
    answer = flower.json(f"/api/collabs/changes?view=collabs&q=fragment&status=active&after={event.id}")
    assert (answer["after"], "html" in answer) == (event.id, False)
    answer = flower.json("/api/collabs/changes?view=collabs&q=fragment&status=active&after=other")
    assert set(answer["html"]) >= {"tabs", "covers", "pager", "empty", f"row-{before.id}"}
    before.cancel()


def test_unknown_view_is_refused(dashboard):
    answer = dashboard.flower.get("/api/collabs/changes?view=<b>")
    assert (answer.status, "must be one of collabs" in answer.text) == (400, True)


def test_wrong_values_are_named_on_the_page(dashboard):
    text = dashboard.flower.get("/collabs?status=odd&since=soon&sort=odd&unknown=1").text
    for name in ("status", "since", "sort"):
        assert re.search(rf"<p>{name}: must be", text)

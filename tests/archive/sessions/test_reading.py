"""Lists, searches and pages: what is found, and that a cursor neither skips nor repeats."""

from __future__ import annotations

import pytest
from redis import Redis
from sqlalchemy import select

from sessions.archiving import STREAMS, archive_now, archived
from sessions.table import Table
from symposia.archive.archive import Archive
from symposia.archive.results import SessionFilter
from symposia.archive.tables import METADATA
from symposia.client.pruning import prune
from symposia.dashboard.views.session_search import build_page
from symposia.models.errors import InvalidInput, SessionNotFound
from symposia.models.sessions.query import SessionQuery
from symposia.models.text.ids import new_id
from symposia.state.redis.readers import StreamReader

pytestmark = pytest.mark.leaves_keys


def tables(client: Redis, archive: Archive, *texts: str) -> list[Table]:
    """A session for each text, archived."""
    made = []
    for said in texts:
        table = Table(client, opened=False)
        table.open(archived=True)
        table.speak(table.plan_one(), said)
        archive_now(archive, table)
        made.append(table)
    return made


def found(archive: Archive, words: str, **more: object) -> list[str]:
    return [it.content for it in archive.reader.search(words, **more).items]  # type: ignore[arg-type]


def test_pages_are_stable_while_sessions_are_added(client: Redis, archive: Archive) -> None:
    made = tables(client, archive, *map(str, range(5)))
    first = archive.reader.page(limit=2)
    tables(client, archive, "a newer one")
    second = archive.reader.page(limit=2, after=first.cursor)
    third = archive.reader.page(limit=2, after=second.cursor)
    listed = [it.session_id for page in (first, second, third) for it in page.items]
    assert listed == [table.id for table in reversed(made)]
    assert third.cursor is None


def test_sessions_are_filtered_by_their_fields(client: Redis, archive: Archive) -> None:
    (one,) = tables(client, archive, "x")
    state = one.state()
    for wanted in (
        SessionFilter(status="active"),
        SessionFilter(mode="round_robin"),
        SessionFilter(participant="ann"),
        SessionFilter(since_ms=state.opened_ms, until_ms=state.opened_ms + 1),
    ):
        assert [it.session_id for it in archive.reader.page(wanted).items] == [one.id], wanted
    for other in (
        SessionFilter(status="completed"),
        SessionFilter(mode="pair"),
        SessionFilter(participant="zoe"),
        SessionFilter(tag="x"),
        SessionFilter(since_ms=state.opened_ms + 1),
        SessionFilter(until_ms=state.opened_ms),
    ):
        assert archive.reader.page(other).items == (), other


def test_messages_are_found_by_words_newest_first(client: Redis, archive: Archive) -> None:
    tables(client, archive, "a blue door", "the door is red", "Übung macht den Meister")
    assert found(archive, "door") == ["the door is red", "a blue door"]
    assert found(archive, "BLUE door") == ["a blue door"]
    assert found(archive, "übung") == ["Übung macht den Meister"]
    assert found(archive, "ubung") == []
    assert found(archive, "door", wanted=SessionFilter(status="completed")) == []


@pytest.mark.parametrize(
    "words", ['blue "door', "blue OR nothing", "content: blue", "blue*", "NEAR(blue)", "blue:*", "'; --blue"]
)
def test_search_term_is_text_not_a_query(client: Redis, archive: Archive, words: str) -> None:
    tables(client, archive, "a blue door")
    assert set(found(archive, words)) <= {"a blue door"}


@pytest.mark.parametrize("words", ["", "  ", '"', "--"])
def test_search_without_a_word_is_refused(archive: Archive, words: str) -> None:
    with pytest.raises(InvalidInput, match="must contain a word"):
        archive.reader.search(words)


def test_search_pages_continue_after_a_cursor(client: Redis, archive: Archive) -> None:
    tables(client, archive, *(f"door {number}" for number in range(5)))
    first = archive.reader.search("door", limit=3)
    rest = archive.reader.search("door", limit=3, after=first.cursor)
    assert [it.content for it in (*first.items, *rest.items)] == [f"door {n}" for n in (4, 3, 2, 1, 0)]
    assert rest.cursor is None


@pytest.mark.parametrize("cursor", ["", "x", "bm90IG9uZQ", "é"])
def test_invalid_cursor_is_refused(archive: Archive, cursor: str) -> None:
    with pytest.raises(InvalidInput, match="cursor: must be a cursor from a previous page"):
        archive.reader.page(after=cursor)


def test_session_that_is_not_archived_is_not_found(archive: Archive) -> None:
    with pytest.raises(SessionNotFound):
        archive.reader.session(new_id())


def test_long_streams_are_read_in_both_directions(table: Table, archive: Archive) -> None:
    for _ in range(6):
        table.speak(table.plan_one(), *(str(number) for number in range(100)))
    archive_now(archive, table)
    there = archived(archive, table.id)["dialog"]
    assert len(there) == 600
    back = [entry_id for entry_id, _ in archive.reader.entries(table.id, "dialog", newest_first=True)]
    assert back == [entry_id for entry_id, _ in reversed(there)]


def test_pruning_removes_old_but_not_live_sessions(client: Redis, archive: Archive) -> None:
    old, live = tables(client, archive, "an old door", "a live door")
    client.delete(old.key("session"))
    before_ms = 2 * live.state().updated_ms
    rehearsed = prune(archive, client, before_ms=before_ms, dry_run=True)
    assert found(archive, "door") == ["a live door", "an old door"]
    assert prune(archive, client, before_ms=before_ms) == rehearsed
    assert (rehearsed.sessions, rehearsed.messages, rehearsed.live) == (1, 1, 1)
    assert found(archive, "door") == ["a live door"]
    assert [it.session_id for it in archive.reader.page().items] == [live.id]
    with archive.database.reading() as connection:
        for table in METADATA.sorted_tables:
            if "session" in table.c:
                rows = connection.execute(select(table.c.session).distinct()).all()
                assert len(rows) <= 1, table


def test_pruning_keeps_younger_sessions(client: Redis, archive: Archive) -> None:
    (table,) = tables(client, archive, "x")
    updated_ms = table.state().updated_ms
    client.delete(table.key("session"))
    assert prune(archive, client, before_ms=updated_ms).sessions == 0
    assert prune(archive, client, user="42").sessions == 0


def test_everything_of_one_user_is_erased(client: Redis, archive: Archive) -> None:
    for user in ("42", "43"):
        table = Table(client, opened=False)
        table.open(archived=True, spec=f'{{"memory": {{"user_id": "{user}"}}}}')
        table.speak(table.plan_one(), f"the door of {user}")
        archive_now(archive, table)
        client.delete(table.key("session"))
    assert prune(archive, client, user="42").sessions == 1
    assert found(archive, "door") == ["the door of 43"]


def test_newest_pages_match_the_live_streams(client: Redis, archive: Archive) -> None:
    (table,) = tables(client, archive, "first")
    for number in range(6):
        table.speak(table.plan_one(), str(number))
    archive_now(archive, table)
    streams = StreamReader(client)
    for stream in STREAMS:
        before, pages = None, []
        while page := archive.reader.newest_page(table.id, stream, before=before, count=4):
            live = streams.newest_page(table.id, stream, before=before, count=4)
            assert [it for it, _ in page] == [it for it, _ in live]
            pages += page
            before = page[-1][0]
        assert pages[::-1] == list(archive.reader.entries(table.id, stream))


def test_archived_session_says_who_cancelled_it(client: Redis, archive: Archive) -> None:
    first, second, _ = tables(client, archive, "x", "y", "z")
    for table, by in ((first, "m.park"), (second, "")):
        table.store.cancel(table.id, reason="wrong", retention_ms=60_000, by=by)
        archive_now(archive, table)
    page = build_page([], archive.reader, query=SessionQuery(), now_ms=first.state().now_ms)
    assert {row["id"]: row["actor"] for row in page.rows if row["ended_ms"]} == {
        first.id: "m.park",
        second.id: None,
    }

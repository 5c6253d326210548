"""Searches in the archive give what the same query gives for sessions in memory."""

from __future__ import annotations

import json
from collections import Counter
from dataclasses import replace

import pytest
from hypothesis import HealthCheck, given, settings
from sqlalchemy import select, text, update

from scaling import scaled_examples
from sessions.searched import NOW_MS, PARAMS, failed_page, write_sessions
from symposia.archive.additions import drop_additions
from symposia.archive.archive import Archive, upgrade_schema
from symposia.archive.tables import AGENT, COLLAB
from symposia.dashboard.views.collab_row import CollabRow
from symposia.dashboard.views.session_search import SearchPage, archived_row, build_groups, build_page
from symposia.jobs.session_groups import count_by_group
from symposia.models.sessions.grouping import SessionGroup
from symposia.models.sessions.query import SessionQuery
from symposia.models.text.ids import new_id

pytestmark = pytest.mark.leaves_keys
often = settings(
    max_examples=scaled_examples(150),
    deadline=None,
    suppress_health_check=[HealthCheck.function_scoped_fixture],
)


@pytest.fixture
def rows(archive: Archive) -> list[CollabRow]:
    """The rows of sessions in the archive."""
    write_sessions(archive)
    return [archived_row(session) for session in archive.reader.page(limit=100).items]


def answer(page: SearchPage) -> object:
    return [row["id"] for row in page.rows], dict(page.counts), page.total, page.pages, page.page


def test_sql_and_memory_give_the_same(archive: Archive, rows: list[CollabRow]) -> None:
    @often
    @given(params=PARAMS)
    def check(params: dict[str, str]) -> None:
        query, notices = SessionQuery.read({name: [value] for name, value in params.items()})
        assert notices == ()
        listed = replace(query, group="")
        in_memory = answer(build_page(rows, None, query=listed, now_ms=NOW_MS))
        # All in the archive; and a part of them in memory, too.
        for live in ([], rows[::2]):
            assert answer(build_page(live, archive.reader, query=listed, now_ms=NOW_MS)) == in_memory
            if query.group:
                groups, _ = build_groups(live, archive.reader, query=query, now_ms=NOW_MS)
                assert groups == build_groups(rows, archive.reader, query=query, now_ms=NOW_MS)[0]
        matching = [row["id"] for row in rows if query.matches(row, now_ms=NOW_MS)]
        found = build_page([], archive.reader, query=replace(listed, page=1, per_page=500), now_ms=NOW_MS)
        assert sorted(row["id"] for row in found.rows) == sorted(matching)

    check()


def test_agents_are_those_of_the_newest_spec(archive: Archive) -> None:
    page = failed_page("ann: disk full")
    archive.writer.write_all([page])
    query = SessionQuery(agent='odd "name"')
    specs = [
        '{"agents": {"ann": {"agent": "odd \\"name\\""}, "bob": {}}, "title": "\\u0007"}',
        '{"agents": {"ann": {"agent": "writer"}}}',
        "{}",
        '{"agents": {"ann": {"agent": "broken',
    ]
    counts = []
    for spec in specs:
        # As a worker of an earlier release writes it.
        with archive.database.writing() as connection:
            connection.execute(update(COLLAB).values(spec=spec))
        with archive.database.reading() as connection:
            names = connection.execute(select(AGENT.c.participant, AGENT.c.agent)).all()
        counts.append((names, archive.reader.search_sessions(query, now_ms=NOW_MS).counts()))
    assert counts == [
        ([("ann", 'odd "name"')], {"failed": 1}),
        ([("ann", "writer")], {}),
        ([], {}),
        ([], {}),
    ]


def test_an_archive_of_an_earlier_release_gets_its_agents(archive: Archive, rows: list[CollabRow]) -> None:
    def groups() -> list[SessionGroup]:
        return build_groups([], archive.reader, query=SessionQuery(group="agent"), now_ms=NOW_MS)[0]

    before = groups()
    with archive.database.writing() as connection:
        drop_additions(connection)
        connection.execute(text("DROP INDEX IF EXISTS ix_collab_listed"))
    upgrade_schema(archive.database)
    assert groups() == before != []


@pytest.mark.parametrize("is_live", [False, True])
def test_an_agent_costs_its_own_turns(archive: Archive, is_live: bool) -> None:
    page = failed_page("ann: disk full")
    archive.writer.write_all([page])
    rows = [archived_row(session) for session in archive.reader.page().items]
    expected: Counter[str] = Counter()
    for _, event in page.events:
        payload = json.loads(event)["payload"]
        agent = json.loads(page.documents.spec)["agents"][payload["participant_id"]]["agent"]
        expected[agent] += payload["result"]["usage"]["cost_micros"]
    query = SessionQuery(group="agent", sort="-cost")
    groups, covers = build_groups(rows * is_live, archive.reader, query=query, now_ms=NOW_MS)
    assert [(group.name, group.cost_micros) for group in groups] == expected.most_common()
    assert covers.text.endswith("cost of the agents' own turns in the archive")
    assert count_by_group(rows * is_live, archive.reader, query=query, now_ms=NOW_MS) == groups


def test_ids_in_memory_may_be_many(archive: Archive, rows: list[CollabRow]) -> None:
    others = [{**rows[0], "id": new_id()} for _ in range(40_000)]
    page = build_page(others, archive.reader, query=SessionQuery(), now_ms=NOW_MS)
    assert (page.total, page.counts["all"]) == (40_000 + len(rows), 40_000 + len(rows))


def test_a_failed_session_names_turn_and_participant(archive: Archive) -> None:
    page = failed_page("ann: disk full")
    results = ({"outcome": "failed", "error": "no paper"}, {"outcome": "failed", "error": "disk full"}, {})
    events = [
        {
            "event_type": "MAPTurnCompleted",
            "timestamp": f"2026-11-28T14:00:0{number}+00:00",
            "payload": {
                "token_id": str(number),
                "turn_number": number,
                "participant_id": "ann",
                "result": result,
            },
        }
        for number, result in enumerate(results, start=1)
    ]
    entries = tuple((f"{number}-0", json.dumps(event)) for number, event in enumerate(events, start=1))
    archive.writer.write_all([replace(page, events=entries)])
    found = build_page([], archive.reader, query=SessionQuery(error="DISK"), now_ms=NOW_MS)
    ((row,), group) = found.rows, SessionQuery(group="error")
    at_ms = 1_795_874_402_000
    assert row["error"] == {"at_ms": at_ms, "turn": 2, "participant": "ann", "text": "disk full"}
    (error,), _ = build_groups([], archive.reader, query=group, now_ms=NOW_MS)
    assert (error.name, error.sessions, error.failed) == ("disk full", 1, 1)

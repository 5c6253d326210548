"""The list of sessions in Flower: rows, filters, order and pages."""

from __future__ import annotations

from collections.abc import Callable
from dataclasses import replace

import pytest

from live import until
from scaling import patient
from servers.flower import FlowerServer
from servers.ports import own_port
from sessions.submitted import submit_two
from symposia.client import Client
from symposia.client.embedded import EmbeddedServer

pytestmark = pytest.mark.leaves_keys

#: A title that would be a script in HTML, colours in a terminal, and reversed text.
HOSTILE = "</td><script>alert(1)</script>\x1b[31m\u202eevil"


def listed(flower: FlowerServer, query: str = "") -> list[str]:
    return [row["title"] for row in flower.json(f"/api/collabs?{query}")["collabs"]]


def titles_of_pages(flower: FlowerServer, path: str) -> list[str]:
    titles, after = [], ""
    while after is not None:
        page = flower.json(f"{path}&after={after}")
        titles += [row["title"] for row in page["collabs"]]
        after = page["next"]
    return titles


def test_sessions_are_listed_filtered_and_sorted(flower: FlowerServer, client: Client):
    jobs = [submit_two(client, f"Line {name}") for name in "abc"]
    song = submit_two(client, "A song", mode="round_robin")
    jobs[1].suspend()
    until(lambda: len(listed(flower, "status=active")) == 3 and listed(flower, "status=suspended"))
    (row,) = flower.json("/api/collabs?q=song")["collabs"]
    assert (row["id"], row["mode"], row["status"]) == (song.id, "round_robin", "active")
    assert (row["attention"], row["attention_text"]) == ("worker", "the next step waits for a worker")
    assert listed(flower, "sort=title&order=asc") == ["A song", "Line a", "Line b", "Line c"]
    assert listed(flower, "sort=opened") == ["A song", "Line c", "Line b", "Line a"]
    assert listed(flower, "mode=round_robin") == ["A song"]
    assert listed(flower, f"q={jobs[2].id[:8]}") == ["Line c"]
    assert listed(flower, "status=worker&q=LINE&sort=title&order=asc") == ["Line a", "Line c"]
    counts = flower.json("/api/collabs?q=song")["counts"]
    assert (counts["active"], counts["suspended"], counts["worker"]) == (3, 1, 3)


def test_pages_are_consecutive(dashboard):
    for number in range(5):
        submit_two(dashboard.client, f"Page {number}")
    until(lambda: len(listed(dashboard.flower, "q=page")) == 5)
    titles = titles_of_pages(dashboard.flower, "/api/collabs?q=page&sort=title&order=asc&limit=2")
    assert titles == [f"Page {number}" for number in range(5)]


@pytest.mark.parametrize("query", ["status=odd", "sort=odd", "limit=0", "limit=x", "limit=501", "after=odd"])
def test_bad_arguments_give_a_one_line_error(dashboard, query):
    answer = dashboard.flower.get(f"/api/collabs?{query}")
    assert answer.status == 400
    assert "\n" not in answer.json()["error"]


def test_a_hostile_title_stays_text(dashboard):
    submit_two(dashboard.client, HOSTILE)
    until(lambda: listed(dashboard.flower, "q=evil"))
    answer = dashboard.flower.get("/api/collabs?q=evil")
    assert answer.headers["content-type"].startswith("application/json")
    assert answer.json()["collabs"][0]["title"] == HOSTILE
    # Characters that change how text looks are escaped in the JSON itself.
    assert "\x1b" not in answer.text
    assert "\u202e" not in answer.text
    assert "<script>alert" not in dashboard.flower.get("/collabs?q=%3Cscript%3Ealert(1)").text


def test_a_question_to_a_person_is_shown(dashboard):
    submit_two(dashboard.client, "It asks", agent="human")
    until(lambda: listed(dashboard.flower, "status=parked&q=asks") == ["It asks"], what="it is parked")
    (row,) = dashboard.flower.json("/api/collabs?q=asks")["collabs"]
    assert row["attention_text"] == "ann must answer"
    assert [it["state"] for it in row["speakers"]] == ["parked"]
    assert listed(dashboard.flower, "status=person&q=asks") == ["It asks"]


@pytest.mark.long
def test_archived_sessions_are_paged_and_listed_once(dashboard):
    jobs = [submit_two(dashboard.client, f"Old {number}", stop={"max_turns": 1}) for number in range(5)]
    for job in jobs:
        job.result(timeout=patient(60))

    def are_archived() -> bool:
        # There is no reader until a worker has created the archive.
        reader = dashboard.client.archived()
        return reader is not None and all(reader.has_ended(job.id) for job in jobs)

    until(are_archived, what="they are archived")
    titles = [f"Old {number}" for number in range(5)]
    until(lambda: sorted(listed(dashboard.flower, "q=old")) == titles, what="they are listed")
    assert dashboard.flower.json("/api/collabs/archived?q=old")["collabs"] == []
    # Another Redis with the same archive: all of them are from the archive.
    with EmbeddedServer(dashboard.folder / "empty", durable=False, bound=True) as server:
        flower = replace(
            dashboard.flower, settings={**dashboard.flower.settings, "redis_url": server.url}, port=own_port()
        )
        try:
            flower.start()
            titles = titles_of_pages(flower, "/api/collabs/archived?q=OLD&limit=2")
            assert titles == [f"Old {number}" for number in reversed(range(5))]
            (row,) = flower.json(f"/api/collabs/archived?q={jobs[0].id[:8]}")["collabs"]
            assert (row["id"], row["archived"], row["status"], row["turns"]) == (
                jobs[0].id,
                True,
                "completed",
                1,
            )
            assert flower.json("/api/collabs/archived?q=old&status=cancelled")["collabs"] == []
            assert flower.json("/api/collabs?q=old")["collabs"] == []
        finally:
            flower.kill()


@pytest.mark.long
def test_queued_session_is_stuck_if_no_worker_takes_it(
    start_flower: Callable[..., FlowerServer], client: Client
):
    from symposia.state.presence import WorkerPresence
    from symposia.state.redis.connect import connect

    flower = start_flower(environment={"SYMPOSIA_STUCK_AFTER_S": "2"})
    submit_two(client, "Nobody takes it")
    with connect(client.redis_url) as redis:
        presence = WorkerPresence(redis)

        def stuck() -> bool:
            presence.announce("idle@here", ["say"])
            return listed(flower, "status=stuck") == ["Nobody takes it"]

        until(stuck, what="it is stuck")

"""State and freshness of the data: words, sentences and HTML."""

from __future__ import annotations

import json
import logging

import pytest

from servers.dashboard import CREDENTIALS
from servers.flower import basic
from symposia.dashboard.live.health_feed import HealthFeed
from symposia.dashboard.live.outage_log import OutageLog
from symposia.dashboard.views.health import Health, freshness, health_json, health_notice
from symposia.dashboard.views.texts import sentence_duration
from symposia.models.sessions.stop_conditions import MaxRounds

NOW = 1_000_000


@pytest.mark.long
def test_streams_and_answers_carry_the_state(dashboard):
    user = basic(CREDENTIALS)
    for path in (
        "/api/collabs",
        "/api/inbox",
        "/api/schedules",
        "/api/reviews",
        "/api/collabs/changes?after=0-0",
    ):
        assert dashboard.flower.json(path, **user)["health"]["level"] == "live", path
    with dashboard.flower.stream("/api/collabs/stream", with_health=True, **user) as stream:
        states = [stream.until(lambda event: event.kind == "health").data for _ in range(2)]
    asked = dashboard.flower.json("/api/health", **user)
    assert {state["level"] for state in (*states, asked)} == {"live"}
    assert states[0].keys() == asked.keys()


@pytest.mark.long
def test_ids_in_upper_case_lead_to_their_pages(dashboard):
    job = dashboard.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxRounds(1))
    for path in ("/collabs", "/api/collabs"):
        answer = dashboard.flower.get(f"{path}/{job.id.upper()}?turn=1", **basic(CREDENTIALS))
        assert (answer.status, answer.headers["location"]) == (302, f"{path}/{job.id}?turn=1")
    assert dashboard.client.get_job(job.id.upper()).id == job.id


@pytest.mark.parametrize(
    ("health", "level", "style"),
    [
        (Health(read_ms=NOW - 5_000), "live", "fresh"),
        (Health(read_ms=NOW - 5_001), "late", "fresh is-late"),
        (Health(read_ms=NOW - 15_001), "stale", "fresh is-lost"),
        (Health(read_ms=NOW, redis_away_ms=NOW), "stale", "fresh is-lost"),
        (Health(), "stale", "fresh is-lost"),
    ],
)
def test_freshness_follows_the_age_of_the_data(health: Health, level: str, style: str):
    fresh = freshness(health, NOW)
    assert (fresh.level, fresh.style) == (level, style)
    assert freshness(health, NOW, ended_ms=5).level == "ended"


@pytest.mark.parametrize(
    ("health", "sentence"),
    [
        (Health(NOW, has_workers=True), None),
        (Health(NOW), None),
        (
            Health(NOW - 131_000, NOW - 130_000, has_workers=False),
            (
                "Redis does not answer since 00:14:30 UTC (2 min 10 s). Rows and counts are from 00:14:29 UTC. Buttons work "
                "again when it answers. It is asked again every second."
            ),
        ),
        (
            Health(NOW, has_workers=False, no_worker_ms=NOW - 60_000, waiting=1, last_worker="w1@here"),
            (
                "No worker since 00:15:40 UTC (1 min). 1 session cannot go on; nothing is lost, and it goes on when a worker "
                "starts: symposia worker. The last one, w1@here, was lost."
            ),
        ),
        (
            Health(NOW, has_workers=False, waiting=1_200),
            (
                "No worker is running. 1,200 sessions cannot go on; nothing is lost, and they go on when a worker starts: "
                "symposia worker."
            ),
        ),
        (
            Health(NOW, has_workers=False),
            "No worker is running. New sessions wait until a worker starts: symposia worker.",
        ),
    ],
)
def test_notice_says_what_is_wrong(health: Health, sentence: str | None):
    notice = health_notice(health, NOW)
    assert sentence == (None if notice is None else str(notice))
    assert health_json(health, NOW)["notice"] == sentence


@pytest.mark.parametrize(
    ("ms", "text"),
    [
        (-1, "0 s"),
        (59999, "59 s"),
        (130000, "2 min 10 s"),
        (2599000, "43 min"),
        (18180000, "5 h 3 min"),
        (7200000, "2 h"),
        (172800000, "2 days"),
    ],
)
def test_span_has_one_or_two_units(ms: float, text: str):
    assert sentence_duration(ms) == text


def test_element_escapes_what_others_wrote():
    feed = HealthFeed(lambda: NOW)
    feed.record_read()
    feed.record_workers(are_there=False, none_since_ms=None, waiting=0, last="<b>\x1b\u202e")
    html = json.loads(feed.event())["html"]
    assert "The last one, <bdi>&lt;b&gt;␛\\u202e</bdi>, was lost." in html
    feed.record_error(OSError("redis://:secret@host is away"))
    assert "secret" not in feed.event()
    assert json.loads(feed.event())["redis_away_ms"] == NOW
    feed.record_read()
    assert json.loads(feed.event())["level"] == "live"


def test_outage_is_logged_at_its_begin_each_minute_and_at_its_end(caplog: pytest.LogCaptureFixture):
    now = 0.0
    outages = OutageLog(logging.getLogger("outages"), "pages wait", clock=lambda: now)
    for second in range(125):
        now = float(second)
        outages.report("timeout" if second % 2 else "refused")
    outages.end()
    outages.end()
    assert [record.getMessage() for record in caplog.records] == [
        "pages wait, trying again: refused",
        "pages wait for 60 s (59 messages left out): refused",
        "pages wait for 120 s (118 messages left out): refused",
        "pages wait no longer, after 124 s",
    ]

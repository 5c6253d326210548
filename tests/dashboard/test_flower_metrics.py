"""Metrics in Flower's own `/metrics`."""

from __future__ import annotations

import pytest

from live import result_of, until
from monitoring.scraping import Scrape
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns

#: They start servers of their own.
pytestmark = pytest.mark.long


def run_session(client) -> None:
    people = [Participant(participant_id=name) for name in ("ann", "bob")]
    collab = Collab(title="A pair", purpose="see that it works", mode="pair", participants=people)
    result_of(client.submit(collab, agents={"ann": "say", "bob": "say"}, stop=MaxTurns(2)), timeout_s=60)


def scraped(flower, condition) -> Scrape:
    def look() -> Scrape | None:
        scrape = Scrape.parse(flower.get("/metrics").text)
        return scrape if condition(scrape) else None

    return until(look, what="the metrics in Flower")


def test_restarted_flower_continues_its_counters(start_flower, client, worker):
    flower = start_flower()
    run_session(client)
    before = scraped(flower, lambda it: it.total("symposia_turns_total", outcome="message") == 2)
    assert before.total("symposia_workers") == 1
    assert "python_info" in before.names(), "the default registry, with Flower's own metrics"
    flower.kill()
    run_session(client)
    flower.start()
    run_session(client)
    scraped(flower, lambda it: it.total("symposia_turns_total", outcome="message") == 6)


def test_flower_answers_a_scrape_during_a_redis_outage(start_flower, settings):
    settings["redis_url"] = "redis://127.0.0.1:1/0"
    flower = start_flower()
    scrape = scraped(flower, lambda it: it.total("symposia_metrics_age_seconds") > 1)
    assert scrape.total("symposia_turns_total") == 0

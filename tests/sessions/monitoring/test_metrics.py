"""Metrics of real sessions on real workers."""

from __future__ import annotations

import json

import pytest

from live import result_of, until
from monitoring.scraping import Scrape, scrape_redis
from scaling import patient
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.tasks.runtime.graph import TaskGraph, TurnCall
from symposia.workers.worker_app import create_worker_app

SPENDER = """
[agents.spender]
kind = "scripted"
replies = [{ say = "word", usage = { input_tokens = 10, output_tokens = 5, requests = 1, cost_micros = 2500 } }]
"""


def counted(installation, condition) -> Scrape:
    """The scrape that meets the condition: counts are written about once a second."""

    def look() -> Scrape | None:
        scrape = scrape_redis(installation.redis_url)
        return scrape if condition(scrape) else None

    return until(look, what="the counts are written")


@pytest.mark.long
def test_turns_and_sessions_count_by_mode_and_outcome(installation):
    installation.start_worker()
    before = scrape_redis(installation.redis_url)
    assert before.total("symposia_turns_total") == 0
    jobs = [installation.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxTurns(4)) for _ in range(3)]
    for job in jobs:
        result_of(job)
    scrape = counted(installation, lambda it: it.total("symposia_turns_total", outcome="message") == 12)
    assert scrape.total("symposia_turns_total", mode="pair") == 12
    assert scrape.total("symposia_turn_seconds_count", mode="pair") == 12
    assert scrape.total("symposia_turn_seconds_bucket", mode="pair", le="+Inf") == 12
    assert scrape.total("symposia_queue_wait_seconds_count") == 12
    assert scrape.total("symposia_turn_seconds_sum") > 0
    assert scrape.total("symposia_sessions_started_total", mode="pair") == 3
    assert (
        scrape.total("symposia_sessions_ended_total", mode="pair", status="completed", reason="max_turns")
        == 3
    )
    assert scrape.total("symposia_sessions_ended_total") == 3
    assert scrape.total("symposia_sessions") == 0
    assert scrape.total("symposia_workers") == 1
    assert scrape.total("symposia_sweeps_total", result="done") > 0


@pytest.mark.long
def test_failures_are_counted_as_retried_and_failed(installation):
    installation.start_worker()
    job = installation.submit(
        "pair",
        {"ann": "moody", "bob": "say"},
        policy={"attempts": 2, "backoff_s": 0.05},
        parameters={"fails": 9},
    )
    result_of(job)
    scrape = counted(installation, lambda it: it.total("symposia_turns_total", outcome="failed") == 1)
    assert scrape.total("symposia_turns_total", outcome="retried") == 1
    assert scrape.total("symposia_sessions_ended_total", status="cancelled", reason="failed") == 1


@pytest.mark.long
def test_usage_is_counted_in_tokens_and_dollars(installation):
    with (installation.folder / "agents.toml").open("a") as file:
        file.write(SPENDER)
    installation.start_worker()
    result_of(installation.submit("pair", {"ann": "spender", "bob": "say"}, stop=MaxTurns(4)))
    scrape = counted(installation, lambda it: it.total("symposia_turns_total") == 4)
    assert scrape.total("symposia_tokens_total", mode="pair", direction="input") == 20
    assert scrape.total("symposia_tokens_total", mode="pair", direction="output") == 10
    assert scrape.total("symposia_cost_dollars_total", mode="pair") == pytest.approx(0.005)


def test_live_sessions_are_shown_by_status(installation):
    running = [installation.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxTurns(2)) for _ in range(3)]
    running[1].suspend()
    scrape = scrape_redis(installation.redis_url)
    assert scrape.total("symposia_sessions", mode="pair", status="active") == 2
    assert scrape.total("symposia_sessions", mode="pair", status="suspended") == 1
    running[1].resume()
    running[2].cancel("too late")
    scrape = scrape_redis(installation.redis_url)
    assert scrape.total("symposia_sessions", status="active") == 2
    assert scrape.total("symposia_sessions", status="suspended") == 0
    assert scrape.total("symposia_sessions_ended_total", status="cancelled", reason="other") == 1
    for job in running[:2]:
        job.cancel()
    assert (
        scrape_redis(installation.redis_url).total("symposia_sessions_ended_total", reason="cancelled") == 2
    )


@pytest.mark.long
def test_a_parked_turn_is_shown_and_its_answer_counted(installation):
    installation.start_worker()
    job = installation.submit("pair", {"ann": "human", "bob": "say"}, stop=MaxTurns(2))
    scrape = counted(installation, lambda it: it.total("symposia_turns_total", outcome="parked") == 1)
    assert scrape.total("symposia_parked_turns") == 1
    job.reply("ann", "here I am")
    result_of(job)
    scrape = counted(installation, lambda it: it.total("symposia_turns_total", outcome="message") == 2)
    assert scrape.total("symposia_parked_turns") == 0


@pytest.mark.long
def test_repeated_message_finds_the_lock_held(installation):
    installation.start_worker()
    gate = installation.folder / "gate"
    job = installation.submit(
        "pair", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2), parameters={"gate": str(gate)}
    )
    until(installation.calls, what="the agent is called")
    app = create_worker_app(installation.client.settings)
    graph = TaskGraph(lambda: app)
    graph.send_turns([TurnCall(job.id, 1, "ann", CollabMode.PAIR, "floor")], parent=job.id, sent_ms=0)
    counted(installation, lambda it: it.total("symposia_lock_waits_total", mode="pair") == 1)
    gate.touch()
    result_of(job)


@pytest.mark.long
def test_lost_turns_of_a_worker_are_counted(installation):
    gate = installation.folder / "gate"
    frozen = installation.start_worker()
    job = installation.submit(
        "pair", {"ann": "gated", "bob": "say"}, stop=MaxTurns(2), parameters={"gate": str(gate)}
    )
    until(installation.calls, what="the agent is called")
    frozen.freeze()
    installation.start_worker()
    until(lambda: len(installation.calls()) == 2, what="another worker takes the turn")
    gate.touch()
    result_of(job)
    frozen.thaw()

    def gone(scrape: Scrape) -> bool:
        """Its lease was lost before its agent answered, or its answer was refused."""
        lost, refused = (scrape.total("symposia_turns_total", outcome=it) for it in ("lost", "refused"))
        return lost + refused == 1 and scrape.total("symposia_commits_refused_total") == refused

    counted(installation, lambda it: gone(it) and it.total("symposia_turns_total", outcome="message") == 2)


@pytest.mark.long
def test_no_label_has_text_of_a_session(installation):
    installation.start_worker()
    job = installation.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxTurns(2))
    result_of(job)
    scrape = counted(installation, lambda it: it.total("symposia_turns_total") == 2)
    text = json.dumps([sorted(labels) for _, labels in scrape.samples])
    assert not any(word in text for word in (job.id, "ann", "bob", "speaks", "session"))


@pytest.mark.long
def test_a_worker_that_stops_writes_its_last_counts(installation):
    worker = installation.start_worker()
    result_of(installation.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxTurns(2)))
    worker.ask_to_stop()
    worker.process.wait(patient(60))
    scrape = scrape_redis(installation.redis_url)
    assert scrape.total("symposia_turns_total") == 2, list(scrape.series("symposia_turns_total"))


@pytest.mark.long
def test_processes_of_a_pool_write_their_last_counts(installation):
    worker = installation.start_worker(concurrency=2, options=("--pool", "processes"))
    result_of(installation.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxTurns(6)))
    worker.ask_to_stop()
    worker.process.wait(patient(60))
    assert scrape_redis(installation.redis_url).total("symposia_turns_total") == 6


@pytest.mark.long
def test_counters_continue_after_a_killed_worker(installation):
    first = installation.start_worker()
    result_of(installation.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxTurns(2)))
    counted(installation, lambda it: it.total("symposia_turns_total") == 2)
    first.kill()
    installation.start_worker()
    result_of(installation.submit("pair", {"ann": "say", "bob": "say"}, stop=MaxTurns(2)))
    counted(installation, lambda it: it.total("symposia_turns_total") == 4)

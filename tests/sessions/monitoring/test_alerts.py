"""Each alert rule fires for its cause, on real sessions, workers and servers, and none fires when all is well."""

from __future__ import annotations

import time
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest
import yaml

from live import result_of, until
from monitoring.promql import Vector, evaluate
from monitoring.scraping import Scrape, scrape_redis
from scaling import patient
from servers.ports import own_port
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key

#: They start servers of their own.
pytestmark = pytest.mark.long

RULES = Path(__file__).parents[3] / "deploy" / "monitoring" / "alerts.yml"
#: Seconds without progress after which a session of these tests counts as stuck.
STUCK_AFTER_S = 2
AGENTS = """
[agents.expensive]
kind = "scripted"
replies = [{ say = "word", usage = { input_tokens = 10, requests = 1, cost_micros = 6000000 } }]
"""


def expressions() -> dict[str, str]:
    groups = yaml.safe_load(RULES.read_text())["groups"]
    return {rule["alert"]: rule["expr"] for group in groups for rule in group["rules"]}


@dataclass
class Prometheus:
    """Scrapes one Redis again and again, as a Prometheus server does, and evaluates the rules."""

    url: str
    scrapes: list[tuple[float, Scrape]] = field(default_factory=list)

    def scrape(self) -> Prometheus:
        scrape = scrape_redis(self.url, stuck_after_ms=STUCK_AFTER_S * 1_000)
        self.scrapes.append((time.monotonic(), scrape))
        return self

    def firing(self) -> dict[str, Vector]:
        """The alerts whose expression is true now, with the series for which it is."""
        found = {name: evaluate(expression, self.scrapes) for name, expression in expressions().items()}
        return {name: vector for name, vector in found.items() if vector and isinstance(vector, dict)}

    def until_firing(self, name: str, **labels: str) -> Vector:
        """Waits until the alert fires for a series with these labels."""

        def fires() -> bool:
            found = self.scrape().firing().get(name, {})
            return any(set(labels.items()) <= series for series in found)

        until(fires, timeout_s=60, what=f"{name} fires")
        return self.firing()[name]


@pytest.fixture
def prometheus(stage, monkeypatch) -> Prometheus:
    monkeypatch.setenv("SYMPOSIA_STUCK_AFTER_S", str(STUCK_AFTER_S))
    return Prometheus(stage.redis_url).scrape()


def pair(stage, ann: str = "say", **options: Any):
    return stage.submit("pair", {"ann": ann, "bob": "say"}, stop=MaxTurns(4), **options)


def test_no_alert_fires_without_a_fault(stage, prometheus):
    stage.start_worker()
    for _ in range(5):
        result_of(pair(stage))

    def all_counted() -> bool:
        return prometheus.scrape().scrapes[-1][1].total("symposia_turns_total", outcome="message") == 20

    until(all_counted, what="the turns are counted")
    assert prometheus.firing() == {}


def test_session_waiting_for_a_person_is_not_stuck(stage, prometheus):
    stage.start_worker()
    job = pair(stage, "human")
    until(job.pending, what="the question")
    began = time.monotonic()
    until(lambda: time.monotonic() > began + 3 * STUCK_AFTER_S, what="the time of a stuck session has passed")
    assert prometheus.scrape().firing() == {}
    job.cancel()


def test_alert_without_workers(stage, prometheus):
    worker = stage.start_worker()
    until(lambda: "SymposiaNoWorker" not in prometheus.scrape().firing(), what="the worker is announced")
    worker.ask_to_stop()
    worker.process.wait(patient(30))
    assert prometheus.until_firing("SymposiaNoWorker") == {frozenset(): 0.0}


def test_alert_on_sessions_that_no_worker_sweeps(stage, prometheus):
    worker = stage.start_worker()
    job = pair(stage, "gated", parameters={"gate": str(stage.folder / "never")})
    until(stage.calls, what="the agent is called")
    worker.kill()
    prometheus.until_firing("SymposiaSessionsStuck", reason="unswept")
    job.cancel()


def test_alert_on_sessions_stuck_by_busy_workers(stage, prometheus):
    stage.start_worker(concurrency=1)
    gate = stage.folder / "gate"
    first = pair(stage, "gated", parameters={"gate": str(gate)})
    until(stage.calls, what="the agent is called")
    second = pair(stage)
    prometheus.until_firing("SymposiaSessionsStuck", reason="queued")
    gate.touch()
    for job in (first, second):
        result_of(job)
    until(lambda: "SymposiaSessionsStuck" not in prometheus.scrape().firing(), what="the alert ends")


def test_alert_on_unreadable_sessions(stage, prometheus):
    worker = stage.start_worker()
    job = pair(stage, "gated", parameters={"gate": str(stage.folder / "never")})
    until(stage.calls, what="the agent is called")
    with connect(stage.redis_url) as client:
        client.hset(session_key(job.id, "turns"), "1", "no record")
        client.zadd("symposia:due", {job.id: int(time.time() * 1000)})
        prometheus.until_firing("SymposiaSessionsStuck", reason="unreadable")
        worker.kill()
        client.flushall()


@pytest.mark.parametrize("policy", [{"attempts": 2, "backoff_s": 0.05}, {"attempts": 1, "then": "skip"}])
def test_alert_on_failing_agents(stage, prometheus, policy):
    stage.start_worker()
    for _ in range(3):
        result_of(pair(stage, "moody", policy=policy, parameters={"fails": 9}))
    (share,) = prometheus.until_firing("SymposiaAgentsFailing").values()
    assert 0.2 < share <= 1


def test_alert_on_cost(stage, prometheus):
    with (stage.folder / "agents.toml").open("a") as file:
        file.write(AGENTS)
    stage.start_worker()
    until(lambda: prometheus.scrape().scrapes[-1][1].total("symposia_workers"), what="the worker")
    result_of(pair(stage, "expensive"))
    (dollars,) = prometheus.until_firing("SymposiaCost").values()
    assert dollars == pytest.approx(12)


def test_alert_on_unavailable_memory(stage, prometheus, monkeypatch):
    monkeypatch.setenv("SYMPOSIA_MEMORY_REDIS_URL", f"redis://127.0.0.1:{own_port()}/0")
    stage.start_worker()
    result_of(pair(stage, user_id="ann", room_id="lobby"), timeout_s=60)
    assert prometheus.until_firing("SymposiaMemoryUnavailable")


@pytest.mark.leaves_keys
def test_alert_on_archive_backlog_and_failures(stage, prometheus, monkeypatch):
    # A folder in the place of the database file.
    (stage.folder / "archive.db").mkdir()
    monkeypatch.setenv("SYMPOSIA_ARCHIVE", "true")
    monkeypatch.setenv("SYMPOSIA_DATABASE_URL", f"sqlite:///{stage.folder / 'archive.db'}")
    stage.start_worker()
    for _ in range(130):  # an archiver claims 20 at a time
        pair(stage)
    prometheus.scrapes.clear()
    backlog = prometheus.until_firing("SymposiaArchiveBacklog")
    assert backlog[frozenset()] > 100
    assert prometheus.until_firing("SymposiaArchiveFailing")


@pytest.mark.timeout(180)
def test_alert_on_queue_wait(stage, prometheus):
    stage.start_worker(concurrency=1)
    gate = stage.folder / "gate"
    agents = dict.fromkeys(("ann", "bob", "cyd", "dan", "eve", "fay"), "gated")
    job = stage.submit("broadcast", agents, stop=MaxTurns(6), parameters={"gate": str(gate)})
    until(stage.calls, what="the first of six turns has the only worker")
    began = time.monotonic()
    until(lambda: time.monotonic() > began + 32, timeout_s=60, what="the turns have waited for 32 s")
    gate.touch()
    result_of(job, timeout_s=60)
    assert prometheus.until_firing("SymposiaQueueWait")


def test_alert_on_old_or_missing_metrics(stage, prometheus):
    prometheus.scrapes[-1] = (0.0, Scrape({}))
    assert "SymposiaMetricsOld" in prometheus.firing()
    aged = {
        key: value + 61 if key[0] == "symposia_metrics_age_seconds" else value
        for key, value in prometheus.scrape().scrapes[-1][1].samples.items()
    }
    prometheus.scrapes.append((time.monotonic(), replace(prometheus.scrapes[-1][1], samples=aged)))
    assert "SymposiaMetricsOld" in prometheus.firing()


def test_every_alert_has_a_test():
    source = Path(__file__).read_text()
    assert [name for name in expressions() if source.count(f'"{name}"') == 0] == []

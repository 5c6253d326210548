"""For each cause of each alert, a real situation with this cause: a context in which the alert must fire."""

from __future__ import annotations

import time
from collections.abc import Callable, Iterator
from contextlib import AbstractContextManager, contextmanager
from dataclasses import replace
from typing import Any

import pytest

from live import result_of, until
from monitoring.prometheus import Prometheus
from monitoring.scraping import Scrape
from scaling import patient
from servers.ports import own_port
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns, TokenBudget
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import DUE, session_key

_EXPENSIVE = """
[agents.expensive]
kind = "scripted"
replies = [{ say = "word", usage = { input_tokens = 10, requests = 1, cost_micros = 6000000 } }]
"""

Situation = Callable[[Any, Prometheus], AbstractContextManager[None]]


def pair(installation: Any, ann: str = "say", **options: Any) -> Any:
    return installation.submit("pair", {"ann": ann, "bob": "say"}, **{"stop": MaxTurns(4), **options})


@contextmanager
def without_workers(installation: Any, prometheus: Prometheus) -> Iterator[None]:
    worker = installation.start_worker()
    until(lambda: "SymposiaNoWorker" not in prometheus.scrape().firing(), what="the worker is announced")
    worker.ask_to_stop()
    worker.process.wait(patient(30))
    yield


@contextmanager
def unswept(installation: Any, _prometheus: Prometheus) -> Iterator[None]:
    worker = installation.start_worker()
    job = pair(installation, "gated", parameters={"gate": str(installation.folder / "never")})
    until(installation.calls, what="the agent is called")
    worker.kill()
    yield
    job.cancel()


@contextmanager
def queued(installation: Any, prometheus: Prometheus) -> Iterator[None]:
    installation.start_worker(concurrency=1)
    gate = installation.folder / "gate"
    first = pair(installation, "gated", parameters={"gate": str(gate)})
    until(installation.calls, what="the agent is called")
    second = pair(installation)
    yield
    gate.touch()
    for job in (first, second):
        result_of(job)
    until(lambda: "SymposiaSessionsStuck" not in prometheus.scrape().firing(), what="the alert ends")


@contextmanager
def short_of_budget(installation: Any, prometheus: Prometheus) -> Iterator[None]:
    """One of two turns has reserved most of the budget, and its agent does not answer."""
    installation.start_worker()
    gate = installation.folder / "gate"
    job = installation.submit(
        "broadcast",
        {"ann": "gated", "bob": "gated"},
        stop=TokenBudget(150) | MaxRounds(1),
        limits={"turn_tokens": 100},
        parameters={"gate": str(gate)},
    )
    yield
    assert len(installation.calls()) == 1
    gate.touch()
    assert result_of(job).ok
    until(lambda: "SymposiaSessionsStuck" not in prometheus.scrape().firing(), what="the alert ends")


@contextmanager
def unreadable(installation: Any, _prometheus: Prometheus) -> Iterator[None]:
    worker = installation.start_worker()
    job = pair(installation, "gated", parameters={"gate": str(installation.folder / "never")})
    until(installation.calls, what="the agent is called")
    with connect(installation.redis_url) as client:
        client.hset(session_key(job.id, "turns"), "1", "no record")
        client.zadd(DUE, {job.id: int(time.time() * 1000)})
        yield
        worker.kill()
        client.flushall()


def failing(outcome: str, fails: int, **policy: Any) -> Situation:
    """Three sessions whose agents fail, with this outcome only."""

    @contextmanager
    def failing(installation: Any, prometheus: Prometheus) -> Iterator[None]:
        installation.start_worker()
        for _ in range(3):
            job = pair(installation, "moody", stop=MaxTurns(2), policy=policy, parameters={"fails": fails})
            result_of(job)
        yield
        failed = {"failed", "skipped", "retried"}
        newest = prometheus.scrapes[-1][1]
        assert {it for it in failed if newest.total("symposia_turns_total", outcome=it)} == {outcome}
        (share,) = prometheus.firing()["SymposiaAgentsFailing"].values()
        assert 0.2 < share <= 1

    return failing


@contextmanager
def expensive(installation: Any, prometheus: Prometheus) -> Iterator[None]:
    with (installation.folder / "agents.toml").open("a") as file:
        file.write(_EXPENSIVE)
    installation.start_worker()
    until(lambda: prometheus.scrape().scrapes[-1][1].total("symposia_workers"), what="the worker")
    result_of(pair(installation, "expensive"))
    yield
    assert prometheus.firing()["SymposiaCost"] == {frozenset(): 12}


@contextmanager
def without_memory(installation: Any, _prometheus: Prometheus) -> Iterator[None]:
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SYMPOSIA_MEMORY_REDIS_URL", f"redis://127.0.0.1:{own_port()}/0")
        installation.start_worker()
        result_of(pair(installation, user_id="ann", room_id="lobby"), timeout_s=60)
        yield


@contextmanager
def without_database(installation: Any, _prometheus: Prometheus) -> Iterator[None]:
    (installation.folder / "archive.db").mkdir()  # a folder in the place of the database file
    with pytest.MonkeyPatch.context() as environment:
        environment.setenv("SYMPOSIA_ARCHIVE", "true")
        environment.setenv("SYMPOSIA_DATABASE_URL", f"sqlite:///{installation.folder / 'archive.db'}")
        installation.start_worker()
        pair(installation)
        yield


@contextmanager
def many_sessions_without_database(installation: Any, prometheus: Prometheus) -> Iterator[None]:
    with without_database(installation, prometheus):
        for _ in range(130):  # an archiver claims 20 at a time
            pair(installation)
        # The rule takes the least of the scrapes: one before all sessions count would stay the least.
        until(
            lambda: prometheus.scrape().scrapes[-1][1].total("symposia_archive_backlog_sessions") > 100,
            what="the backlog counts all sessions",
        )
        prometheus.scrapes.clear()
        yield
        assert prometheus.firing()["SymposiaArchiveBacklog"][frozenset()] > 100


@contextmanager
def long_queue(installation: Any, _prometheus: Prometheus) -> Iterator[None]:
    installation.start_worker(concurrency=1)
    gate = installation.folder / "gate"
    agents = dict.fromkeys(("ann", "bob", "cyd", "dan", "eve", "fay"), "gated")
    job = installation.submit("broadcast", agents, stop=MaxTurns(6), parameters={"gate": str(gate)})
    until(installation.calls, what="the first of six turns has the only worker")
    began = time.monotonic()
    until(lambda: time.monotonic() > began + 32, timeout_s=60, what="the turns have waited for 32 s")
    gate.touch()
    result_of(job, timeout_s=60)
    yield


@contextmanager
def outdated(_installation: Any, prometheus: Prometheus) -> Iterator[None]:
    """The answers of an endpoint that has not reached Redis for 61 seconds."""
    prometheus.change = lambda scrape: replace(
        scrape,
        samples={
            key: value + 61 * (key[0] == "symposia_metrics_age_seconds")
            for key, value in scrape.samples.items()
        },
    )
    yield


@contextmanager
def missing(_installation: Any, prometheus: Prometheus) -> Iterator[None]:
    """No endpoint answers."""
    prometheus.change = lambda _scrape: Scrape({})
    yield


@contextmanager
def down(_installation: Any, prometheus: Prometheus) -> Iterator[None]:
    """An endpoint does not answer: Prometheus itself adds this series."""
    key = "up", frozenset({("job", "symposia")})
    prometheus.change = lambda scrape: replace(scrape, samples={**scrape.samples, key: 0.0})
    yield


#: By alert and branch, as `alert_causes` derives them from the rules.
SITUATIONS: dict[tuple[str, str], Situation] = {
    ("SymposiaNoWorker", ""): without_workers,
    ("SymposiaSessionsStuck", "queued"): queued,
    ("SymposiaSessionsStuck", "budget"): short_of_budget,
    ("SymposiaSessionsStuck", "unreadable"): unreadable,
    ("SymposiaSessionsStuck", "unswept"): unswept,
    ("SymposiaAgentsFailing", "failed"): failing("failed", 9, attempts=1),
    ("SymposiaAgentsFailing", "skipped"): failing("skipped", 1, attempts=1, then="skip"),
    ("SymposiaAgentsFailing", "retried"): failing("retried", 1, attempts=2, backoff_s=0.05),
    ("SymposiaQueueWait", ""): long_queue,
    ("SymposiaArchiveBacklog", ""): many_sessions_without_database,
    ("SymposiaArchiveFailing", ""): without_database,
    ("SymposiaCost", ""): expensive,
    ("SymposiaMemoryUnavailable", ""): without_memory,
    ("SymposiaMetricsOld", "min(symposia_metrics_age_seconds) > 60"): outdated,
    ("SymposiaMetricsOld", "absent(symposia_metrics_age_seconds)"): missing,
    ("SymposiaEndpointDown", ""): down,
}
#: Situations that leave keys without a time to live: those of sessions that wait for the archive.
LEAVES_KEYS = {"SymposiaArchiveBacklog", "SymposiaArchiveFailing"}

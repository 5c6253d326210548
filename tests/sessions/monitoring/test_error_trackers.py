"""Error trackers get each turn that failed finally once, with the exception of its agent and without secrets."""

from __future__ import annotations

import importlib.util
import json

import pytest

from live import result_of, until
from stub_agents.trackers import REPORTS, SECRET
from symposia.models.sessions.stop_conditions import MaxTurns

AGENTS = """
[agents.shop]
kind = "python"
callable = "stub_agents.trackers:sell"
"""
SKIP = {"attempts": 2, "backoff_s": 0.05, "then": "skip"}
has_sentry = pytest.mark.skipif(
    importlib.util.find_spec("sentry_sdk") is None, reason="needs the package sentry-sdk"
)


@pytest.fixture
def reports(installation, tmp_path, monkeypatch):
    """Run a session in which the agent of one turn fails for good; return what its error tracker got."""
    installation.agents_file = tmp_path / "shop.toml"
    installation.agents_file.write_text(AGENTS)
    file = tmp_path / "reports.jsonl"
    monkeypatch.setenv(REPORTS, str(file))

    def run(source, *, pool="threads", **parameters):
        options = ("--pool", pool, "--include", "stub_agents.trackers")
        worker = installation.start_worker(options=options)
        job = installation.submit(
            "round_robin", {"ann": "shop"}, stop=MaxTurns(1), policies={"ann": SKIP}, parameters=parameters
        )
        result_of(job)
        until(lambda: file.exists() and f'"{source}"' in file.read_text(), what="the failure is reported")
        until(lambda: "raised expected: TurnFailed" in worker.log(), what="the failure is logged in one line")
        assert SECRET not in file.read_text() + worker.log()
        lines = [json.loads(line) for line in file.read_text().splitlines()]
        return [line for line in lines if line["source"] == source]

    return run


@pytest.mark.parametrize(
    ("pool", "leaks"),
    [("threads", False), ("threads", True), pytest.param("processes", True, marks=pytest.mark.long)],
)
def test_task_failure_has_the_exception_of_the_agent(reports, pool, leaks):
    (report,) = reports("signal", pool=pool, leaks=leaks)
    assert (report["error"], report["cause"], report["function"]) == ("TurnFailed", "NoStock", "sell")
    assert report["is_original"] is not leaks, "an exception with a secret is replaced by a copy"
    summary, cause, cause_of_cause, traceback = report["texts"]
    assert summary.startswith("failed: NoStock: no doors left (stub_agents/trackers.py:")
    assert (cause, "KeyError" in cause_of_cause) == ("NoStock('no doors left')", True)
    assert 'raise NoStock("no doors left") from error' in traceback


@has_sentry
@pytest.mark.parametrize("leaks", [False, True])
def test_sentry_gets_one_event_of_a_failed_turn(reports, leaks):
    (report,) = reports("sentry", leaks=leaks)
    shown = [value["type"] for value in report["event"]["exception"]["values"]]
    assert shown == ["KeyError", "NoStock", "TurnFailed"]
    frames = [value["stacktrace"]["frames"] for value in report["event"]["exception"]["values"]]
    assert frames[1][-1]["function"] == "sell"
    assert not [frame for frame in frames[1] if frame["module"].startswith("symposia.")]
    assert report["event"]["extra"]["celery-job"]["task_name"] == "symposia.turn"

"""Shutdown of workers during a turn."""

from __future__ import annotations

import signal

import pytest

from live import result_of, until
from scaling import patient
from symposia.models.sessions.stop_conditions import MaxTurns

# A machine that is loaded takes its time to start workers.
pytestmark = pytest.mark.timeout(180)


def speaking(installation, *, turns: int = 4):
    """A worker whose agent waits for the gate in turn 2, and its session."""
    worker = installation.start_worker()
    job = installation.submit(
        "round_robin",
        {"ann": "gated", "bob": "gated"},
        stop=MaxTurns(turns),
        parameters={"gate": str(installation.folder / "gate"), "gate_turn": 2},
    )
    until(lambda: [call for call in installation.calls() if call["turn"] == 2], what="turn 2 is being spoken")
    return worker, job


def attempts(installation) -> list[tuple[int, int]]:
    return [(call["turn"], call["attempt"]) for call in installation.calls()]


def test_warm_shutdown_finishes_the_turn(installation, checked):
    worker, job = speaking(installation)
    worker.ask_to_stop()
    until(lambda: "Warm shutdown" in worker.log(), what="the worker stops")
    (installation.folder / "gate").touch()
    assert worker.process.wait(patient(30)) == 0, worker.log()
    installation.start_worker()
    result = result_of(job)

    assert (result.ok, result.turns) == (True, 4)
    assert attempts(installation) == [(1, 1), (2, 1), (3, 1), (4, 1)]
    checked(job, result)


@pytest.mark.parametrize(
    "signals",
    [
        ("SIGQUIT",),
        pytest.param(("SIGINT", "SIGINT"), marks=pytest.mark.long),
        pytest.param(("SIGTERM", "SIGQUIT"), marks=pytest.mark.long),
    ],
)
@pytest.mark.long
def test_cold_shutdown_hands_the_turn_over(installation, checked, signals):
    installation.lease_s = 600  # no other worker waits for its end
    worker, job = speaking(installation)
    for number, name in enumerate(signals):
        if number:
            until(lambda: "Warm shutdown" in worker.log(), what="the worker stops")
        worker.process.send_signal(signal.Signals[name])
    worker.process.wait(patient(30))
    assert "Unrecoverable error" not in worker.log()
    assert "lease lost, discarding output" in worker.log()
    (installation.folder / "gate").touch()
    installation.start_worker()
    result = result_of(job)

    assert (result.ok, result.turns) == (True, 4)
    assert attempts(installation) == [(1, 1), (2, 1), (2, 2), (3, 1), (4, 1)]
    checked(job, result)


@pytest.mark.long
@pytest.mark.parametrize("doing", ["starting", "handing_over"])
def test_cold_shutdown_ends_the_worker_at_any_point(installation, checked, doing):
    worker = installation.start_worker(app=f"processes.apps:interrupted_{doing}", wait=False)
    job = installation.submit("round_robin", {"ann": "say", "bob": "say"}, stop=MaxTurns(2))
    worker.process.wait(patient(30))
    assert "Cold shutdown" in worker.log()
    installation.start_worker()
    result = result_of(job)

    assert (result.ok, result.turns) == (True, 2)
    checked(job, result)

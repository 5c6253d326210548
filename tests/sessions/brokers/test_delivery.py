"""Messages that come twice, at once, late, or after everything is over: a delivery is only a hint."""

from __future__ import annotations

import pytest

from live import result_of, until
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.stop_conditions import MaxRounds
from symposia.tasks.runtime.graph import TaskGraph, TurnCall
from symposia.workers.worker_app import create_worker_app

MODES = {
    "round_robin": ({"ann": "say", "bob": "say", "cyd": "say"}, {"stop": MaxRounds(2)}),
    "pair": ({"driver": "say", "navigator": "navigator"}, {}),
    "orchestrated": ({"orchestrator": "lead", "coder": "say", "tester": "say", "writer": "say"}, {}),
    "broadcast": ({"ann": "say", "bob": "say", "cyd": "say"}, {"stop": MaxRounds(2)}),
    "swarm": (
        {"ann": "claimer", "tess": "claimer"},
        {"roles": {"tess": "tester"}, "options": {"items": [{"text": "plan"}]}},
    ),
}


def dispatches(job):
    return [event.payload for event in job.events() if event.event_type == "MAPTurnDispatched"]


@pytest.mark.parametrize(
    "mode", [it if it == "broadcast" else pytest.param(it, marks=pytest.mark.long) for it in MODES]
)
def test_turn_delivered_twice_is_spoken_once(installation, checked, mode):
    installation.start_workers(2, app="processes.apps:twice")
    agents, options = MODES[mode]
    job = installation.submit(mode, agents, **options)
    result = result_of(job)

    assert result.ok
    assert len(dispatches(job)) == len(installation.calls()) == result.turns
    checked(job, result)


def deliver_again(installation, job, mode):
    """Every turn the session ever had, sent once more."""
    app = create_worker_app(installation.client.settings)
    graph = TaskGraph(lambda: app)
    calls = []
    for payload in dispatches(job):
        scope = "floor" if mode == "round_robin" else f"slot:{payload['participant_id']}"
        calls.append(
            TurnCall(job.id, payload["turn_number"], payload["participant_id"], CollabMode(mode), scope)
        )
    for call in calls:
        graph.send_turns([call], parent=job.id, sent_ms=0)
    return len(calls)


@pytest.mark.worker_needs("slots")
@pytest.mark.parametrize("mode", ["round_robin", "broadcast"])
def test_redelivered_turns_change_nothing(installation, checked, mode):
    gate = installation.folder / "gate"
    worker = installation.start_worker()
    agents = dict.fromkeys(("ann", "bob", "cyd"), "gated")
    job = installation.submit(mode, agents, stop=MaxRounds(2), parameters={"gate": str(gate), "gate_turn": 4})
    until(lambda: [c for c in installation.calls() if c["turn"] == 4], what="the second round has begun")
    handled = worker.log().count("succeeded")
    sent = deliver_again(installation, job, mode)
    until(lambda: worker.log().count("succeeded") >= handled + sent, what="the old deliveries were answered")
    gate.touch()
    result = result_of(job)
    assert (result.turns, len(result.dialog.messages)) == (6, 6)

    handled = worker.log().count("succeeded")
    sent = deliver_again(installation, job, mode)
    until(lambda: worker.log().count("succeeded") >= handled + sent, what="the late deliveries were answered")
    assert result_of(job) == result
    checked(job, result)


def test_messages_stay_small_and_readable(installation):
    """What Flower shows names the turn, and never what was said."""
    job = installation.submit(
        "round_robin", {"ann": "say", "bob": "say"}, stop=MaxRounds(1), messages=["A secret word."]
    )
    redis = installation.client._installation.sessions.workers._client
    raw = redis.lindex("symposia", 0)
    assert f"session={job.id}" in raw
    assert "secret" not in raw

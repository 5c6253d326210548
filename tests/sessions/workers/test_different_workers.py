"""Workers with different agents files beside each other, as two projects on one machine have them."""

from __future__ import annotations

import pytest

from live import LiveWorker, result_of
from symposia.models.sessions.options import FailurePolicy
from symposia.models.sessions.stop_conditions import MaxTurns

#: They start many processes one after the other.
pytestmark = pytest.mark.timeout(180)


@pytest.mark.long
def test_turn_waits_for_a_worker_with_its_agent(stage, checked):
    job = stage.submit(
        "round_robin", {"ann": "say", "bob": "say"}, stop=MaxTurns(8), policy=FailurePolicy(attempts=1)
    )
    job.suspend()
    stage.start_worker()
    other = stage.folder / "other.toml"
    other.write_text('[agents.else]\nkind = "scripted"\nreplies = ["no"]\n')
    env = {f"SYMPOSIA_{name.upper()}": str(value) for name, value in stage.settings.items()}
    env["SYMPOSIA_AGENTS_FILE"] = str(other)
    stage.workers.append(LiveWorker("other", stage.folder, env, app="symposia.workers", concurrency=4))
    stage.workers[-1].wait_ready()
    job.resume()

    result = result_of(job, timeout_s=45)
    assert (result.ok, result.turns) == (True, 8)
    completed = [e.payload["result"] for e in job.events() if e.event_type == "MAPTurnCompleted"]
    assert [it["outcome"] for it in completed] == ["message"] * 8
    checked(job, result)

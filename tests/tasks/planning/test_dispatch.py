"""Which turns a plan sends."""

from __future__ import annotations

from pathlib import Path

from redis import Redis

from sessions.stepper import Stepper
from symposia.models.protocol.collab import Collab, CollabMode, Participant
from symposia.state.redis.connect import connect
from symposia.state.sessions.turn_records import TaskInfo
from symposia.tasks.run_turn import handle_turn_message
from symposia.tasks.runtime.graph import TurnCall


def messages(redis: Redis) -> int:
    return int(redis.llen("celery"))


def test_plan_without_a_new_turn_sends_no_turn_again(redis_url: str, tmp_path: Path) -> None:
    stepper = Stepper.on(redis_url, tmp_path)
    people = [Participant(participant_id=name) for name in ("ann", "bob")]
    collab = Collab(title="Two items", purpose="do them", mode=CollabMode.SWARM, participants=people)
    items = [{"text": "one"}, {"text": "two"}]
    job = stepper.client.submit(collab, agents={"ann": "echo", "bob": "echo"}, options={"items": items})
    stepper.plan(job)
    with connect(redis_url) as redis:
        before = messages(redis)
        call = TurnCall(job.id, 1, "ann", CollabMode.SWARM, "item:1")
        end = handle_turn_message(stepper.runtime, call, TaskInfo("t1", parent=job.id))
        assert end.word == "committed"
        assert [turn.status for turn in job.state().open_turns()] == ["planned"]
        assert messages(redis) == before

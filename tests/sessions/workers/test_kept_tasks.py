"""Fast turns follow each other in a thread without messages; slow ones, and other sessions, have their turn."""

from __future__ import annotations

import pytest

from live import REGISTRY, result_of, until
from scaling import patient
from symposia.config.celery import QUEUE
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns
from symposia.patches.kept_tasks import SLICE_S
from symposia.state.redis.connect import connect

pytestmark = pytest.mark.worker_needs("threads")


def messages_sent(installation) -> int:
    """How many messages were put into a queue so far."""
    with connect(installation.redis_url) as redis:
        return int(redis.info("commandstats").get("cmdstat_lpush", {"calls": 0})["calls"])


def run(installation, turns: int, agent: str = "say"):
    return installation.submit("round_robin", {"ann": agent, "bob": agent}, stop=MaxTurns(turns))


def test_fast_turns_follow_each_other_without_messages(installation):
    installation.start_worker(concurrency=1)
    result_of(run(installation, 2))  # the first turn reads the agents
    before = messages_sent(installation)
    assert result_of(run(installation, 60)).turns == 60
    assert messages_sent(installation) - before < 60
    with connect(installation.redis_url) as redis:
        until(lambda: redis.llen(QUEUE) == 0, what="the queue is empty")


@pytest.mark.long
def test_slow_turns_are_sent(installation):
    slow = f'\n[agents.slow]\nkind = "scripted"\nreplies = [{{ say = "ok", delay_s = {2 * SLICE_S} }}]\n'
    (installation.folder / "agents.toml").write_text(REGISTRY + slow)
    installation.start_worker(concurrency=1)
    before = messages_sent(installation)
    assert result_of(run(installation, 4, "slow")).turns == 4
    # The first one plans the session, and its thread keeps the first turn.
    assert messages_sent(installation) - before >= 4


@pytest.mark.long
def test_fast_turns_of_a_step_share_a_thread(installation):
    installation.start_worker(concurrency=1)
    agents = dict.fromkeys(("ann", "bob", "cyd", "dan"), "say")

    def broadcast():
        return result_of(installation.submit("broadcast", agents, stop=MaxTurns(40)))

    broadcast()  # measures the agent
    before = messages_sent(installation)
    assert broadcast().turns == 40
    assert messages_sent(installation) - before < 12


@pytest.mark.long
@pytest.mark.parametrize("fast_rounds", [0, 1])
def test_slow_turns_of_a_step_run_at_once(installation, fast_rounds):
    replies = ["ok"] * fast_rounds + [{"say": "ok", "delay_s": patient(1.0)}]
    agents = {name: {"agent": "noop", "parameters": {"replies": replies}} for name in ("ann", "bob", "cyd")}
    installation.start_worker(concurrency=3)
    result_of(
        installation.submit("broadcast", dict.fromkeys(agents, "say"), stop=MaxRounds(1))
    )  # measures the agent
    job = installation.submit("broadcast", agents, stop=MaxRounds(fast_rounds + 1))
    result_of(job)
    kinds = [
        it.event_type for it in job.events() if it.event_type in ("MAPTurnDispatched", "MAPTurnCompleted")
    ]
    assert kinds[-6:] == ["MAPTurnDispatched"] * 3 + ["MAPTurnCompleted"] * 3


@pytest.mark.long
def test_sessions_share_a_thread(installation):
    installation.start_worker(concurrency=1)
    jobs = [run(installation, 400) for _ in range(2)]
    ends = [result_of(job) for job in jobs]
    assert [end.turns for end in ends] == [400, 400]
    spoken = [[message.timestamp for message in job.messages()] for job in jobs]
    assert spoken[0][0] < spoken[1][-1]
    assert spoken[1][0] < spoken[0][-1]


@pytest.mark.long
def test_a_kept_turn_is_a_task_like_any_other(installation, monitor):
    installation.start_worker(concurrency=1)
    job = run(installation, 20)
    result_of(job)
    names = ("task-sent", "task-received", "task-started", "task-succeeded")

    def all_told() -> bool:
        return all(len(monitor.told(name)) >= 21 for name in names)

    until(all_told, what="four events of each task")
    sent = monitor.told("task-sent")
    for name in names[1:]:
        assert monitor.told(name).keys() == sent.keys()
    turns = [it for it in sent.values() if "turn=" in it["kwargs"]]
    assert len({it["kwargs"] for it in turns}) == 20
    assert {it["root_id"] for it in turns} == {job.id}
    # Each turn is a child of the turn that planned it.
    parents = {it["uuid"]: it["parent_id"] for it in turns}
    assert len(parents.keys() & set(parents.values())) == 19

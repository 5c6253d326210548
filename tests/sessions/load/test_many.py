"""Many sessions at once, and one very long one."""

from __future__ import annotations

import base64
import json
import statistics
from collections import defaultdict

import pytest

from live import result_of
from symposia.config.celery import QUEUE
from symposia.config.settings import load_settings
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.text.ids import new_id
from symposia.state.sessions.turn_records import TaskInfo
from symposia.tasks.planning.advance import advance
from symposia.tasks.run_turn import handle_turn_message
from symposia.tasks.runtime.graph import TurnCall
from symposia.tasks.runtime.runtime import runtime_of
from symposia.workers.worker_app import create_worker_app

QUIET = """
[agents.quiet]
kind = "scripted"
replies = ["word"]
"""


@pytest.fixture
def quiet_installation(installation):
    file = installation.folder / "agents.toml"
    file.write_text(file.read_text() + QUIET)
    return installation


@pytest.mark.long
@pytest.mark.timeout(180)
def test_two_hundred_concurrent_sessions_complete(quiet_installation, checked):
    quiet_installation.start_workers(2)
    jobs = [
        quiet_installation.submit("round_robin", {"ann": "quiet", "bob": "quiet"}, stop=MaxTurns(20))
        for _ in range(200)
    ]
    for job in jobs:
        result = result_of(job, timeout_s=150)
        assert (result.ok, result.turns, len(result.dialog.messages)) == (True, 20, 20)
    checked(jobs[0], result_of(jobs[0]))


def take_message(redis):
    """The oldest message of the queue as a worker would take it: its size on the wire, task and arguments."""
    raw = redis.rpop(QUEUE)
    message = json.loads(raw)
    _, kwargs, _ = json.loads(base64.b64decode(message["body"]))
    return len(raw), message["headers"]["task"], kwargs


def read_traffic(redis):
    """The commands that the server has run, and the bytes that it has sent."""
    stats = redis.info("stats")
    return stats["total_commands_processed"], stats["total_net_output_bytes"]


@pytest.mark.long
def test_cost_of_a_turn_is_constant(quiet_installation):
    """Of a long session and of a short one: bytes of the message, commands of the server, and bytes that it answers."""
    settings = load_settings(**quiet_installation.settings)
    runtime = runtime_of(create_worker_app(settings))
    redis = runtime.store.client
    job = quiet_installation.submit("round_robin", {"ann": "quiet", "bob": "quiet"}, stop=MaxTurns(2_000))

    _, task, kwargs = take_message(redis)
    assert task == "symposia.advance"
    advance(runtime, kwargs["session"], parent=job.id)
    sizes, costs, short = [], defaultdict(list), None
    while redis.llen(QUEUE):
        size, task, kwargs = take_message(redis)
        session = kwargs["session"]
        if task == "symposia.advance":
            assert session != job.id
            advance(runtime, session, parent=session)
            continue
        assert task == "symposia.turn"
        before = read_traffic(redis)
        call = TurnCall(**{**kwargs, "mode": CollabMode(kwargs["mode"])})
        assert handle_turn_message(runtime, call, TaskInfo(new_id(), parent=session)).word == "committed"
        costs[session].append([now - then for now, then in zip(read_traffic(redis), before, strict=True)])
        if session == job.id:
            sizes.append(size)
        if len(sizes) == 1_500 and short is None:  # from here on they take turns
            short = quiet_installation.submit(
                "round_robin", {"ann": "quiet", "bob": "quiet"}, stop=MaxTurns(500)
            )

    assert result_of(job).turns == len(sizes) == 2_000
    assert result_of(short).turns == len(costs[short.id]) == 500
    # Base64 carries three bytes in four; the number stands in the arguments and in their readable form.
    assert max(sizes) - min(sizes) < 24
    for late, early in zip(
        zip(*costs[job.id][-500:], strict=True), zip(*costs[short.id], strict=True), strict=True
    ):
        assert statistics.median(late) < 1.1 * statistics.median(early)

"""Turns of a lost worker are taken over at once, with all settings at their defaults; those of a running one never."""

from __future__ import annotations

import os
import signal
import subprocess
import sys
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest

from chaos.recovery import heartbeats
from live import REGISTRY, SUPPORT, LiveWorker, result_of, until
from scaling import patient
from servers.redis_nodes import own_cluster, own_sentinels
from symposia.client import Client
from symposia.config.settings import child_environment, load_settings
from symposia.models.protocol.collab import Collab, Participant
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import worker_lease_key

pytestmark = [pytest.mark.xdist_group("faults-of-workers"), pytest.mark.timeout(180), pytest.mark.long]

AGENTS = f'{REGISTRY}\n[agents.hog]\nkind = "python"\ncallable = "stub_agents.busy:hog"\n'
#: Milliseconds after which a process that reports nothing counts as lost, and some more.
SILENCE_MS = 9_000


class DefaultInstallation:
    """Workers and sessions with default settings, and what tests do to their processes."""

    def __init__(self, folder: Path, redis_url: str, **settings: str) -> None:
        self.folder = folder
        (folder / "agents.toml").write_text(AGENTS)
        self.settings = load_settings(
            redis_url=redis_url, agents_file=folder / "agents.toml", data_dir=folder, **settings
        )
        self.client = Client(self.settings)
        self.redis = connect(redis_url)
        self._stack = ExitStack()

    def start_worker(self, name: str, *options: str) -> LiveWorker:
        worker = LiveWorker(
            name,
            self.folder,
            child_environment(self.settings),
            app="symposia.workers",
            concurrency=2,
            options=options,
        )
        self._stack.callback(worker.close)
        return worker.wait_ready()

    def submit(self, agent: str = "gated"):
        """A session of two turns, the first of which is waited for."""
        people = [Participant(participant_id=name) for name in ("ann", "bob")]
        collab = Collab(title="t", purpose="p", mode="round_robin", participants=people)
        parameters = {"log": str(self.folder / "calls"), "gate": str(self.folder / "gate")}
        agents = {"ann": agent, "bob": "say"}
        job = self.client.submit(collab, agents=agents, parameters=parameters, stop={"max_turns": 2})
        until((self.folder / "calls").exists, what="turn 1 is being spoken")
        return job

    def holder(self) -> int:
        """Id of the process that runs the agent of the first turn."""
        return int((self.folder / "calls").read_text().partition('"pid": ')[2].partition(",")[0])

    def finish(self, job) -> list[str]:
        """Let the agents answer; return the outcomes of all grants, and the workers that were lost."""
        (self.folder / "gate").touch()
        result = result_of(job)
        assert [message.speaker for message in result.dialog.messages] == ["ann", "bob"]
        ends = [it.payload["result"]["outcome"] for it in job.events() if it.event_type == "MAPTurnCompleted"]
        return [*ends, *lost_workers(job)]

    def wait_for_silence(self) -> None:
        """Wait until workers have looked for lost ones for longer than a lost one may be silent."""
        seconds, _ = self.redis.time()

        def is_over() -> bool:
            checked_ms = self.redis.hget(worker_lease_key("checks"), "last_ms")
            return int(checked_ms or 0) > seconds * 1000 + SILENCE_MS

        until(is_over, what="workers have looked for lost workers")

    def close(self) -> None:
        self._stack.close()
        self.client.close()
        self.redis.close()


def lost_workers(job) -> list[str]:
    return [it.data["worker"] for it in job.collab().events if it.event_type == "turn.worker.lost"]


@pytest.fixture
def installation(tmp_path: Path, redis_url: str) -> Iterator[DefaultInstallation]:
    installation = DefaultInstallation(tmp_path, redis_url)
    yield installation
    installation.close()


@pytest.mark.parametrize("pool", ["threads", "processes", "solo"])
def test_turn_of_a_killed_process_is_taken_over(installation, pool):
    installation.start_worker("first", "--pool", pool)
    job = installation.submit()
    installation.start_worker("second")
    os.kill(installation.holder(), signal.SIGKILL)
    until(lambda: lost_workers(job), timeout_s=5, what="the worker counts as lost")
    assert installation.finish(job) == ["expired", "message", "message", "first@live"]


def test_turn_of_a_lost_machine_is_taken_over(installation):
    """The worker and its heartbeat process end at once, so the end of the worker is not reported."""
    first = installation.start_worker("first")
    job = installation.submit()
    installation.start_worker("second")
    pids = heartbeats(first.process.pid)
    first.freeze()  # or it would start another one
    for pid in pids:
        os.kill(pid, signal.SIGKILL)
    first.kill()
    until(lambda: lost_workers(job), timeout_s=10, what="the machine counts as lost")
    assert installation.finish(job) == ["expired", "message", "message", "first@live"]


def test_turn_of_a_killed_supervisor_is_taken_over(installation):
    command = [sys.executable, "-m", "symposia", "worker", "--processes", "1", "--name", "first@live"]
    environment = {**os.environ, **child_environment(installation.settings), "PYTHONPATH": str(SUPPORT)}
    with subprocess.Popen(
        command, cwd=installation.folder, env=environment, stderr=subprocess.DEVNULL
    ) as supervisor:
        try:
            job = installation.submit()
            installation.start_worker("second")
        finally:
            supervisor.kill()
    until(lambda: lost_workers(job), timeout_s=5, what="the worker counts as lost")
    assert installation.finish(job)[:-1] == ["expired", "message", "message"]


@pytest.mark.parametrize("servers", ["sentinels", "cluster"])
def test_turns_are_taken_over_with_several_servers(tmp_path, redis_url, servers):
    with ExitStack() as stack:
        if servers == "sentinels":
            url = stack.enter_context(own_sentinels(tmp_path / "nodes", password="hunter22")).url
            installation = DefaultInstallation(tmp_path, url)
        else:
            url = stack.enter_context(own_cluster(tmp_path / "nodes")).url
            installation = DefaultInstallation(tmp_path, url, broker_url=redis_url)
        stack.callback(installation.close)
        first = installation.start_worker("first")
        job = installation.submit()
        installation.start_worker("second")
        first.kill()
        until(lambda: lost_workers(job), timeout_s=5, what="the worker counts as lost")
        assert installation.finish(job) == ["expired", "message", "message", "first@live"]


def test_frozen_worker_keeps_its_turn(installation):
    first = installation.start_worker("first")
    job = installation.submit()
    installation.start_worker("second")
    first.freeze()
    installation.wait_for_silence()
    first.thaw()
    assert installation.finish(job) == ["message", "message"]


@pytest.mark.parametrize("pool", ["threads", "processes"])
def test_worker_that_stops_is_not_lost(installation, pool):
    first = installation.start_worker("first", "--pool", pool)
    job = installation.submit()
    second = installation.start_worker("second")
    first.ask_to_stop()
    assert installation.finish(job) == ["message", "message"]
    first.process.wait(patient(40))
    leases = worker_lease_key("leases"), worker_lease_key("lost")
    until(lambda: not [it for key in leases for it in installation.redis.zrange(key, 0, -1) if "first" in it])
    assert "worker first@" not in second.log()


def test_worker_without_its_interpreter_keeps_its_turn(installation):
    installation.start_worker("first")
    job = installation.submit("hog")
    installation.start_worker("second")
    assert installation.finish(job) == ["message", "message"]


def test_worker_without_processor_time_keeps_its_turn(installation):
    installation.start_worker("first")
    job = installation.submit()
    installation.start_worker("second")
    busy = [subprocess.Popen([sys.executable, "-c", "while True: pass"]) for _ in range(20)]
    try:
        installation.wait_for_silence()
    finally:
        for it in busy:
            it.kill()
            it.wait()
    assert installation.finish(job) == ["message", "message"]


@pytest.mark.parametrize("pool", ["threads", "processes"])
def test_killed_heartbeat_process_is_replaced(installation, pool):
    first = installation.start_worker("first", "--pool", pool)
    job = installation.submit()
    installation.start_worker("second")
    (killed,) = heartbeats(first.process.pid)
    os.kill(killed, signal.SIGKILL)
    until(
        lambda: [pid for pid in heartbeats(first.process.pid) if pid != killed], what="there is another one"
    )
    installation.wait_for_silence()
    assert lost_workers(job) == []
    os.kill(installation.holder(), signal.SIGKILL)
    until(lambda: lost_workers(job), timeout_s=5, what="the worker counts as lost")
    assert installation.finish(job) == ["expired", "message", "message", "first@live"]


def test_outage_of_redis_makes_no_worker_lost(installation):
    """No report arrives while the server is paused: when it continues, the leases of all workers have expired."""
    installation.start_worker("first")
    job = installation.submit()
    installation.start_worker("second")
    installation.redis.client_pause(SILENCE_MS)
    installation.wait_for_silence()
    assert installation.finish(job) == ["message", "message"]

"""Sessions on a cluster: two workers and a broker that may be killed and restarted at any moment."""

from __future__ import annotations

from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest
from pytest_celery import CeleryTestSetup, CeleryTestWorker, CeleryWorkerCluster

from checks import ledger
from live import REGISTRY, result_of, until
from scaling import patient
from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key

pytestmark = [pytest.mark.cluster, pytest.mark.long, pytest.mark.timeout(180)]
TIMEOUT_S = 50

MODES: dict[str, dict[str, Any]] = {
    "round_robin": {"agents": {"ann": "say", "bob": "say"}, "stop": MaxRounds(2)},
    "orchestrated": {
        "agents": {"orchestrator": "lead", "coder": "say", "tester": "say", "writer": "say"},
    },
    "pair": {"agents": {"driver": "say", "navigator": "navigator"}},
    "broadcast": {"agents": {"ann": "say", "bob": "say", "cyd": "say"}, "messages": ["What do you think?"]},
    "swarm": {
        "agents": {"ann": "claimer", "bob": "claimer", "tess": "claimer"},
        "roles": {"tess": "tester"},
        "options": {"items": [{"text": "plan"}, {"text": "paint"}]},
    },
}

#: More than are spoken while processes are killed and started again.
TURNS = 5_000


@dataclass
class ClusterInstallation:
    """A client of the cluster."""

    setup: CeleryTestSetup
    folder: Path

    @property
    def url(self) -> str:
        """Where the broker listens: Docker may choose another port when it starts again."""
        return self.setup.broker.config()["host_url"]

    @property
    def client(self) -> Client:
        agents_file = self.folder / "agents.toml"
        agents_file.write_text(REGISTRY)
        return Client(load_settings(redis_url=self.url, agents_file=agents_file, data_dir=self.folder))

    def submit(self, mode: str, *, agents: dict[str, str], **options: Any) -> CollabJob:
        roles = options.pop("roles", {})
        people = [Participant(participant_id=name, role_id=roles.get(name)) for name in agents]
        collab = Collab(title=f"A {mode} session", purpose="see it end", mode=mode, participants=people)
        return self.client.submit(collab, agents=agents, **options)

    def talk(self, *, turns: int) -> CollabJob:
        return self.submit("round_robin", agents={"ann": "say", "bob": "say"}, stop=MaxTurns(turns))

    def messages(self, job: CollabJob) -> int:
        with connect(self.url) as redis:
            return redis.xlen(session_key(job.id, "dialog"))

    def wait_for(self, job: CollabJob, *, messages: int) -> None:
        until(lambda: self.messages(job) >= messages, timeout_s=TIMEOUT_S, what=f"{messages} messages")

    def goes_on(self, job: CollabJob) -> None:
        self.wait_for(job, messages=self.messages(job) + 20)

    def stops(self, job: CollabJob) -> None:
        """Check that it ran until now and stops on request."""
        self.client.get_job(job.id).stop()
        result = self.result(job)
        assert (result.ok, result.reason) == (True, "stop_requested")
        assert result.turns == self.messages(job) < TURNS

    def employs(self, worker: CeleryTestWorker) -> bool:
        """Whether the worker has spoken; if not, there is more to say: another may have been quicker."""
        return "Task symposia.turn" in worker.logs() or not self.result(self.talk(turns=4))

    def result(self, job: CollabJob) -> Any:
        """The result, once everything that is true of every session was found to be."""
        result = result_of(self.client.get_job(job.id), timeout_s=TIMEOUT_S)
        with connect(self.url) as redis:
            ledger.check(redis, job.id)
        return result


@pytest.fixture
def celery_worker_cluster(two_symposia_workers: CeleryWorkerCluster) -> CeleryWorkerCluster:
    return two_symposia_workers


@pytest.fixture
def celery_backend_cluster() -> None:
    """Sessions need no result backend."""


@pytest.fixture
def installation(celery_setup: CeleryTestSetup, tmp_path: Path) -> ClusterInstallation:
    assert celery_setup.ready()
    return ClusterInstallation(celery_setup, tmp_path)


def is_running(worker: CeleryTestWorker) -> bool:
    worker.container.reload()
    return worker.container.status == "running"


def test_each_mode_runs_on_two_workers(installation: ClusterInstallation):
    jobs = {mode: installation.submit(mode, **options) for mode, options in MODES.items()}
    results = {mode: installation.result(job) for mode, job in jobs.items()}

    assert {mode: result.reason for mode, result in results.items()} == {
        "round_robin": "max_rounds",
        "orchestrated": "satisfied",
        "pair": "approved",
        "broadcast": "max_rounds",
        "swarm": "board_empty",
    }
    for worker in installation.setup.worker_cluster:
        until(
            lambda worker=worker: installation.employs(worker), timeout_s=TIMEOUT_S, what="both have spoken"
        )


def test_killed_worker_costs_only_its_lease(installation: ClusterInstallation):
    first, second = installation.setup.worker_cluster
    job = installation.talk(turns=TURNS)
    installation.wait_for(job, messages=20)
    first.kill()
    installation.goes_on(job)
    first.restart()
    second.kill()
    installation.goes_on(job)
    installation.stops(job)

    assert (is_running(first), is_running(second)) == (True, False)


def test_workers_survive_a_killed_broker(installation: ClusterInstallation):
    job = installation.talk(turns=TURNS)
    installation.wait_for(job, messages=20)
    installation.setup.broker.kill()
    for worker in installation.setup.worker_cluster:
        worker.wait_for_log("with a line a minute until it answers", timeout=patient(TIMEOUT_S))
    installation.setup.broker.restart()
    installation.goes_on(job)
    installation.stops(job)

    assert all(is_running(worker) for worker in installation.setup.worker_cluster)

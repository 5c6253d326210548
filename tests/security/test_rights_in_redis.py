"""The user that docs/security.md grants may do all that Symposia does, and nothing else."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path
from threading import Thread
from typing import Any

import pytest
from celery import Celery
from redis import Redis
from redis.exceptions import NoPermissionError, ResponseError

from live import REGISTRY, LiveWorker, result_of, until
from scaling import patient
from servers.granted import granted_server
from symposia.cli.doctor.checks import run_checks
from symposia.cli.doctor.server_checks import Grade
from symposia.client import Client
from symposia.config.settings import Settings, load_settings
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.workers.worker_app import create_worker_app

#: Mode -> agents, roles and options of a session in it.
SESSIONS: dict[str, tuple[dict[str, str], dict[str, str], dict[str, Any]]] = {
    "round_robin": ({"ann": "say", "bob": "say"}, {}, {"stop": {"max_rounds": 2}}),
    "orchestrated": (
        dict.fromkeys(("coder", "tester", "writer"), "say") | {"lead": "lead"},
        {"lead": "orchestrator"},
        {},
    ),
    "pair": ({"driver": "say", "navigator": "navigator"}, {}, {}),
    "broadcast": ({"ann": "say", "bob": "say", "sum": "say"}, {}, {"options": {"aggregator": "sum"}}),
    "swarm": (
        {"ann": "claimer", "tess": "claimer"},
        {"tess": "tester"},
        {"options": {"items": [{"text": "plan"}]}},
    ),
}


@pytest.fixture(scope="module")
def settings_and_admin(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Settings, str]]:
    """The settings of that user, on a server with only this user and an administrator, and the administrator's URL."""
    folder = tmp_path_factory.mktemp("acl")
    (folder / "agents.toml").write_text(REGISTRY)
    with granted_server(folder) as (url, admin):
        yield (
            load_settings(
                redis_url=url, agents_file=folder / "agents.toml", data_dir=folder, sweep_interval_s=0.2
            ),
            admin,
        )


def submitted(client: Client, mode: str) -> CollabJob:
    agents, roles, how = SESSIONS[mode]
    people = [Participant(participant_id=name, role_id=roles.get(name)) for name in agents]
    return client.submit(Collab(title="t", purpose="p", mode=mode, participants=people), agents=agents, **how)


def steered(client: Client, gate: Path) -> CollabJob:
    """A session that is suspended, resumed and stopped while its first turn waits for the gate."""
    people = [Participant(participant_id=name) for name in ("ann", "bob")]
    collab = Collab(title="t", purpose="p", mode="round_robin", participants=people)
    agents = dict.fromkeys(("ann", "bob"), "gated")
    job = client.submit(collab, agents=agents, stop={"max_rounds": 2}, parameters={"gate": str(gate)})
    job.suspend()
    job.resume()
    job.stop()
    gate.touch()
    return job


class Monitor(Thread):
    """Monitors the events of workers as Flower does, and ends with the first event."""

    def __init__(self, app: Celery) -> None:
        super().__init__(daemon=True)
        self.told: list[str] = []
        self._app = app

    def run(self) -> None:
        with self._app.connection_for_read() as connection:
            receiver = self._app.events.Receiver(connection)

            def hear(event: dict[str, Any]) -> None:
                self.told.append(event["type"])
                receiver.should_stop = True

            receiver.handlers["*"] = hear
            receiver.capture(timeout=patient(60), wakeup=False)


@pytest.mark.long
def test_sessions_need_only_granted_rights(settings_and_admin, tmp_path):
    settings, admin = settings_and_admin
    environment = {
        "SYMPOSIA_REDIS_URL": settings.redis_url.get_secret_value(),
        "SYMPOSIA_AGENTS_FILE": str(settings.agents_file),
        "SYMPOSIA_SWEEP_INTERVAL_S": "0.2",
    }
    administrator = Redis.from_url(admin, decode_responses=True)
    administrator.acl_log_reset()
    worker = LiveWorker("w1", tmp_path, environment, app="symposia.workers", concurrency=4)
    try:
        worker.wait_ready()
        client, app = Client(settings), create_worker_app(settings)
        monitor = Monitor(app)
        monitor.start()
        jobs = {mode: submitted(client, mode) for mode in SESSIONS}
        stopped = steered(client, tmp_path / "gate")
        assert {mode: result_of(job).ok for mode, job in jobs.items()} == dict.fromkeys(SESSIONS, True)
        assert result_of(stopped)
        assert len(client.jobs()) == 6
        until(client._installation.sessions.workers.list_alive, what="the worker has announced itself")
        assert [it for it in run_checks(settings) if it.grade is Grade.BAD] == []
        until(lambda: monitor.told or not result_of(submitted(client, "pair")), what="it hears")
        monitor.join(patient(30))
        assert [list(told) for told in app.control.ping(timeout=patient(10), limit=1)] == [["w1@live"]]
    finally:
        worker.close()
    assert monitor.told
    assert administrator.acl_log() == []


@pytest.mark.parametrize(
    "command",
    [
        ("FLUSHALL",),
        ("FLUSHDB",),
        ("KEYS", "*"),
        ("SCAN", "0"),
        ("RANDOMKEY",),
        ("CONFIG", "GET", "requirepass"),
        ("CONFIG", "SET", "maxmemory-policy", "allkeys-lru"),
        ("ACL", "LIST"),
        ("CLIENT", "LIST"),
        ("CLIENT", "KILL", "TYPE", "normal"),
        ("DEBUG", "SLEEP", "0"),
        ("SHUTDOWN", "NOSAVE"),
        ("REPLICAOF", "127.0.0.1", "1"),
        ("MONITOR",),
        ("SCRIPT", "FLUSH"),
        ("FUNCTION", "LIST"),
        ("MODULE", "LIST"),
        ("GET", "somebody-elses"),
        ("SET", "somebody-elses", "1"),
        ("EVAL", "return redis.call('GET', KEYS[1])", "1", "somebody-elses"),
        ("EVAL", "return redis.call('GET', 'somebody-elses')", "0"),
        ("SUBSCRIBE", "somebody-elses"),
        ("COPY", "symposia:sessions", "somebody-elses"),
        ("RENAME", "symposia:sessions", "somebody-elses"),
        ("MOVE", "symposia:sessions", "1"),
    ],
    ids=" ".join,
)
def test_other_redis_rights_are_denied(settings_and_admin, command):
    settings, _ = settings_and_admin
    with (
        Redis.from_url(settings.redis_url.get_secret_value()) as client,
        pytest.raises((NoPermissionError, ResponseError), match=r"(?i)permission|acl|not allowed"),
    ):
        client.execute_command(*command)

"""Every option of Celery's worker and every control command works, or is refused in one line; no message is lost."""

from __future__ import annotations

import os
import subprocess
import sys
from collections.abc import Iterator, Sequence
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import psutil
import pytest
from celery.bin.worker import worker as celery_worker
from celery.worker.control import Panel

from live import REGISTRY, LiveWorker, result_of, until
from scaling import patient
from symposia.client import Client
from symposia.config.settings import Settings, load_settings
from symposia.models.protocol.collab import Collab, Participant
from symposia.workers.worker_app import create_worker_app

pytestmark = [pytest.mark.long, pytest.mark.timeout(600)]

#: Options that a worker refuses: arguments, words of the line.
REFUSED = {
    "autoscale": (["--autoscale", "6,1"], "--autoscale does not work with the pool threads"),
    "time_limit": (["--time-limit", "5"], "--time-limit has no effect with the pool threads"),
    "soft_time_limit": (["--soft-time-limit", "5"], "--soft-time-limit has no effect"),
    "max_tasks_per_child": (["--max-tasks-per-child", "5"], "--max-tasks-per-child has no effect"),
    "max_memory_per_child": (["--max-memory-per-child", "5"], "--max-memory-per-child has no effect"),
    "pool_start_method": (["--pool-start-method", "spawn"], "--pool-start-method has no effect"),
    "exclude_queues": (["-X", "symposia"], "leaves no queue to consume"),
    "schedule_filename": (["-B", "-s", "other"], "--schedule cannot be changed"),
    "scheduler": (["-B", "--scheduler", "other:Scheduler"], "--scheduler cannot be changed"),
}
#: Options with which a worker runs sessions, by pool.
THREADS = {
    "pool": ["--pool", "threads"],
    "concurrency": ["-c", "2"],
    "statedb": ["-S", "state"],
    "loglevel": ["-l", "INFO"],
    "hostname": ["-n", "w1@live"],
    "optimization": ["-O", "fair"],
    "prefetch_multiplier": ["--prefetch-multiplier", "4"],
    "task_events": ["-E"],
    "purge": ["--purge"],
    "queues": ["-Q", "symposia,more"],
    "exclude_queues": ["-X", "more"],
    "include": ["-I", "json"],
    "without_gossip": ["--without-gossip"],
    "without_mingle": ["--without-mingle"],
    "heartbeat_interval": ["--heartbeat-interval", "5"],
    "beat": ["-B"],
    "pidfile": ["--pidfile", "worker.pid"],
    "executable": ["--executable", sys.executable],
    "umask": ["--umask", "077"],
}
MORE_THREADS = {
    "disable_prefetch": ["--disable-prefetch"],
    "without_heartbeat": ["--without-heartbeat"],
    "uid": ["--uid", str(os.getuid())],
    "gid": ["--gid", str(os.getgid())],
    "logfile": ["-f", "worker-file.log"],
}
SOLO = {"pool": ["--pool", "solo"]}
PREFORK = {
    "pool": ["--pool", "processes"],
    "autoscale": ["--autoscale", "3,1"],
    "time_limit": ["--time-limit", "60"],
    "soft_time_limit": ["--soft-time-limit", "50"],
    "max_tasks_per_child": ["--max-tasks-per-child", "3"],
    "max_memory_per_child": ["--max-memory-per-child", "1000000"],
}
#: Tested by itself.
DETACH = "detach"


@dataclass
class WorkerInstallation:
    """A folder and settings of workers."""

    folder: Path
    settings: Settings
    environment: dict[str, str]

    def submit(self) -> Any:
        people = [Participant(participant_id=it) for it in ("ann", "bob")]
        collab = Collab(title="t", purpose="p", mode="round_robin", participants=people)
        return Client(self.settings).submit(
            collab, agents={"ann": "echo", "bob": "echo"}, stop={"max_rounds": 2}
        )

    def start(
        self, options: dict[str, list[str]], *, app: str = "symposia.workers", path: Sequence[Path] = ()
    ) -> LiveWorker:
        given = [it for values in options.values() for it in values]
        return LiveWorker(
            "w1", self.folder, self.environment, app=app, concurrency=2, options=given, path=path
        )


@pytest.fixture
def installation(tmp_path: Path, redis_url: str) -> WorkerInstallation:
    (tmp_path / "agents.toml").write_text(REGISTRY)
    chosen = {
        "redis_url": redis_url,
        "agents_file": tmp_path / "agents.toml",
        "data_dir": tmp_path,
        "sweep_interval_s": 0.2,
        "redispatch_after_s": 2,
    }
    environment = {f"SYMPOSIA_{name.upper()}": str(value) for name, value in chosen.items()}
    return WorkerInstallation(tmp_path, load_settings(**chosen), environment)


def test_each_option_of_celery_is_in_a_table():
    known = {*REFUSED, *THREADS, *MORE_THREADS, *SOLO, *PREFORK, DETACH}
    assert {it.name for it in celery_worker.params} == known


@pytest.mark.parametrize(("options", "line"), REFUSED.values(), ids=REFUSED)
def test_option_without_effect_is_refused_in_one_line(
    installation: WorkerInstallation, options: list[str], line: str
):
    command = [sys.executable, "-m", "celery", "-A", "symposia.workers", "worker", *options]
    ended = subprocess.run(
        command,
        cwd=installation.folder,
        env={**os.environ, **installation.environment},
        capture_output=True,
        text=True,
        check=False,
        timeout=patient(60),
    )
    said = ended.stdout + ended.stderr
    assert ended.returncode == 2, said
    assert sum(line in it for it in said.splitlines()) == 1, said
    assert "Traceback" not in said


@pytest.mark.parametrize(
    "options", [THREADS, MORE_THREADS, SOLO, PREFORK], ids=["threads", "more", "solo", "prefork"]
)
def test_worker_with_options_runs_what_was_submitted(
    installation: WorkerInstallation, options: dict[str, list[str]]
):
    jobs = [installation.submit() for _ in range(8)]  # --purge removes their messages
    worker = installation.start(options)
    try:
        for job in [*jobs, installation.submit()]:
            assert result_of(job).ok
        log = worker.log() + "".join(it.read_text() for it in installation.folder.glob("worker-file*"))
        assert "Traceback" not in log, log
        assert "rejecting" not in log
    finally:
        worker.close()


def test_detached_worker_runs_sessions(installation: WorkerInstallation):
    options = ["worker", "--detach", "--pidfile", "worker.pid", "--logfile", "worker-file.log", "-l", "INFO"]
    command = [sys.executable, "-m", "celery", "-A", "symposia.workers", *options]
    environment = {**os.environ, **installation.environment}
    subprocess.run(command, cwd=installation.folder, env=environment, check=True, timeout=patient(60))
    pid_file = installation.folder / "worker.pid"
    until(
        lambda: pid_file.exists() and pid_file.read_text().strip(),
        what="the worker has written its process id",
    )
    worker = psutil.Process(int(pid_file.read_text()))
    try:
        assert result_of(installation.submit()).ok
    finally:
        worker.kill()
        until(lambda: not psutil.pid_exists(worker.pid) or worker.status() == psutil.STATUS_ZOMBIE)


FAILING_APP = """
from celery import signals
from symposia.workers.app import app, settings

failed = []

def fail(request):
    if len(failed) < LIMIT:
        failed.append(request.id)
        raise AttributeError("a fault of the worker")

@signals.worker_ready.connect(weak=False)
def install(sender, **_):
    sender.on_task_message.add(fail)
"""


def test_error_of_the_worker_is_not_taken_for_a_bad_message(installation: WorkerInstallation):
    (installation.folder / "failing_app.py").write_text(FAILING_APP.replace("LIMIT", "3"))
    worker = installation.start({}, app="failing_app", path=[installation.folder])
    try:
        jobs = [installation.submit() for _ in range(3)]
        assert all(result_of(it).ok for it in jobs)
        assert "returning its message to the queue" in worker.log()
        assert "a fault of the worker" in worker.log()
        assert "not a task" not in worker.log()
    finally:
        worker.close()


def test_error_that_never_ends_drops_the_message(installation: WorkerInstallation):
    (installation.folder / "failing_app.py").write_text(FAILING_APP.replace("LIMIT", "1_000_000"))
    worker = installation.start({}, app="failing_app", path=[installation.folder])
    try:
        installation.submit()
        until(lambda: "dropping its message" in worker.log(), what="its second failure")
    finally:
        worker.close()


FIXED = "the pool threads has a fixed size"
#: Control commands: arguments, and words of the answer.
COMMANDS: dict[str, tuple[dict[str, Any], str]] = {
    "pool_grow": ({"n": 1}, FIXED),
    "pool_shrink": ({"n": 1}, FIXED),
    "pool_restart": ({}, "restart the worker"),
    "autoscale": ({"max": 3, "min": 1}, "started with --autoscale"),
    "time_limit": ({"task_name": "symposia.turn", "hard": 5.0, "soft": 4.0}, "turn_timeout_s"),
    "rate_limit": ({"task_name": "symposia.deliver", "rate_limit": "5/s"}, "new rate limit set"),
    "revoke": ({"task_id": "none", "terminate": True}, "cannot be terminated"),
    "revoke_by_stamped_headers": ({"headers": {"a": "b"}}, "flagged as revoked"),
    "terminate": ({"signal": "KILL", "task_id": "none"}, "cannot be terminated"),
    "add_consumer": ({"queue": "more"}, "add consumer more"),
    "cancel_consumer": ({"queue": "more"}, "no longer consuming from more"),
    "active_queues": ({}, "symposia"),
    "enable_events": ({}, "task events"),
    "disable_events": ({}, "task events"),
    "report": ({}, "software"),
    "conf": ({}, "task_default_queue"),
    "query_task": ({"ids": ["none"]}, "{}"),
    "clock": ({}, "clock"),
    "hello": ({"from_node": "w9@live"}, "clock"),
    "ping": ({}, "pong"),
    "stats": ({}, "pool"),
    "scheduled": ({}, "[]"),
    "reserved": ({}, "[]"),
    "active": ({}, "[]"),
    "revoked": ({}, "[]"),
    "registered": ({}, "symposia.turn"),
    "objgraph": ({}, "error"),
    "memsample": ({}, ""),
    "memdump": ({}, ""),
}
#: Commands without an answer.
SILENT = {"heartbeat": {}, "election": {"id": "1", "topic": "task", "action": {}}}
#: Malformed ones: Celery uses the arguments later, in the event loop.
MALFORMED = [
    ("add_consumer", {"queue": []}, "queue must not be list"),
    ("add_consumer", {"queue": "x", "bindings": 7}, "bindings is not an argument"),
    ("add_consumer", {"queue": "x", "exchange_type": "x"}, "exchange_type must be"),
    ("cancel_consumer", {"queue": {}}, "queue must not be dict"),
    ("time_limit", {"task_name": "symposia.turn", "hard": "x"}, "hard must not be str"),
    ("nothing", {}, "unknown command"),
]


@pytest.fixture
def running(installation: WorkerInstallation) -> Iterator[WorkerInstallation]:
    worker = installation.start({})
    worker.wait_ready()
    yield installation
    worker.close()


def test_each_control_command_works_or_is_refused_in_one_line(running: WorkerInstallation):
    aliases = {it.alias for it in Panel.meta.values()}
    assert set(Panel.data) - aliases == {*COMMANDS, *SILENT, "shutdown"}
    app = create_worker_app(running.settings)
    with app.connection_for_write() as connection:

        def ask(method: str, arguments: dict[str, Any]) -> str:
            """The answer of the worker as text."""
            answers = app.control.broadcast(
                method, arguments=arguments, reply=True, limit=1, timeout=patient(5), connection=connection
            )
            return str(answers[0]["w1@live"])

        for method, arguments in SILENT.items():
            app.control.broadcast(method, arguments=arguments, connection=connection)
        cases = [(name, *it) for name, it in COMMANDS.items()] + MALFORMED
        for method, arguments, words in cases:
            answer = ask(method, arguments)
            assert words in answer, f"{method}: {answer}"
            assert "\n" not in answer.strip() or method in ("report", "memdump")
        assert result_of(running.submit()).ok
        assert "pong" in ask("ping", {})
        app.control.broadcast("shutdown", connection=connection)

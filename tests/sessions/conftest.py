"""An installation to run sessions: a real server, real worker processes, and what their agents wrote down.

`installation` is a test's own; `shared` has a worker that the tests of a module share, as they neither stop nor configure it.
"""

from __future__ import annotations

import json
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass, field, replace
from pathlib import Path
from typing import Any

import pytest

from checks.expiry import wrong_keys
from live import REGISTRY, LiveWorker, until
from processes.monitor import Monitor
from servers.model_stub import StubModel
from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings
from symposia.jobs.collab import CollabJob
from symposia.jobs.result import JobResult
from symposia.models.protocol.collab import Collab, Participant
from symposia.workers.worker_app import create_worker_app
from tested_worker import TESTED_APP, options_of_worker, skip_if_lacking


def pytest_runtest_setup(item: pytest.Item) -> None:
    skip_if_lacking(item)


@dataclass
class LiveInstallation:
    """One test's workers and client."""

    folder: Path
    redis_url: str
    lease_s: float = 5.0
    broker_url: str | None = None
    queue_type: str = "classic"
    agents_file: Path | None = None
    workers: list[LiveWorker] = field(default_factory=list)

    @property
    def settings(self) -> dict[str, Any]:
        broker = {"broker_url": self.broker_url} if self.broker_url else {}
        return {
            **broker,
            "queue_type": self.queue_type,
            "redis_url": self.redis_url,
            "agents_file": self.agents_file or self.folder / "agents.toml",
            "data_dir": self.folder,
            "lease_s": self.lease_s,
            "redispatch_after_s": 2,
            "sweep_interval_s": 0.2,
        }

    @property
    def client(self) -> Client:
        return Client(load_settings(**self.settings))

    def start_worker(
        self,
        *,
        app: str = TESTED_APP,
        concurrency: int = 4,
        wait: bool = True,
        options: Sequence[str] = (),
    ) -> LiveWorker:
        env = {f"SYMPOSIA_{name.upper()}": str(value) for name, value in self.settings.items()}
        name = f"w{len(self.workers) + 1}"
        options = options_of_worker(app, options)
        # gevent patches modules before they are imported: a fork of a process that has imported them would hang.
        worker = LiveWorker(
            name,
            self.folder,
            env,
            app=app,
            concurrency=concurrency,
            options=options,
            as_installed="gevent" in options,
        )
        self.workers.append(worker)
        return worker.wait_ready() if wait else worker

    def start_workers(self, count: int, **options: Any) -> list[LiveWorker]:
        started = [self.start_worker(wait=False, **options) for _ in range(count)]
        return [worker.wait_ready() for worker in started]

    def submit(self, mode: str, agents: dict[str, str], **options: Any) -> CollabJob:
        parameters = {"log": str(self.folder / "calls.jsonl"), **options.pop("parameters", {})}
        roles = options.pop("roles", {})
        collab = Collab(
            title=f"A {mode} session",
            purpose="see that it works",
            mode=mode,
            participants=[Participant(participant_id=name, role_id=roles.get(name)) for name in agents],
        )
        return self.client.submit(collab, agents=agents, parameters=parameters, **options)

    def calls(self) -> list[dict[str, Any]]:
        log = self.folder / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def close(self) -> None:
        for worker in self.workers:
            worker.close()


@pytest.fixture
def installation(tmp_path: Path, redis_url: str) -> Iterator[LiveInstallation]:
    (tmp_path / "agents.toml").write_text(REGISTRY)
    installation = LiveInstallation(tmp_path, redis_url)
    yield installation
    installation.close()


#: Agents of the shared worker: `model`, `priced` with prices, a small window and no retries, and `texting`, which
#: decides in plain text.
SHARED_MODELS = """
[models.stub]
model = "stub"
base_url = "{url}"
request_timeout_s = 60

[models.priced]
model = "stub"
base_url = "{url}"
retries = 0
context_tokens = 20
input_usd_per_million = 2
cached_usd_per_million = 1
output_usd_per_million = 10

[agents.model]
kind = "llm"
model = "stub"

[agents.priced]
kind = "llm"
model = "priced"

[agents.texting]
kind = "llm"
model = "stub"
structured = false
"""


@pytest.fixture(scope="module")
def shared_model() -> Iterator[StubModel]:
    with StubModel() as stub:
        yield stub


@pytest.fixture(scope="module")
def shared_installation(
    tmp_path_factory: pytest.TempPathFactory, shared_model: StubModel
) -> Iterator[LiveInstallation]:
    """A server and a worker with the agents of all tests, and those of SHARED_MODELS."""
    folder = tmp_path_factory.mktemp("shared")
    (folder / "agents.toml").write_text(REGISTRY + SHARED_MODELS.format(url=shared_model.url))
    with EmbeddedServer(folder / "server", durable=False, bound=True) as server:
        # No test kills this worker: the lease is long, as a busy machine must not make two attempts of one.
        installation = LiveInstallation(folder, server.url, lease_s=60, agents_file=folder / "agents.toml")
        installation.start_worker(concurrency=8)
        yield installation
        installation.close()


@pytest.fixture
def shared(
    tmp_path: Path, shared_installation: LiveInstallation, shared_model: StubModel
) -> Iterator[LiveInstallation]:
    """The installation that a module's tests share, with a folder and a model of the test's own."""
    shared_model.reset()
    yield replace(shared_installation, folder=tmp_path, workers=[])
    until(lambda: not wrong_keys(shared_installation.redis_url), what="the keys of ended sessions expire")


@pytest.fixture
def model(installation: LiveInstallation, request: pytest.FixtureRequest) -> Iterator[StubModel]:
    """A model server for the agents in MODELS of the test module."""
    installation.lease_s = 15  # a busy machine must not make two attempts of one
    with StubModel() as stub:
        with (installation.folder / "agents.toml").open("a") as file:
            file.write(request.module.MODELS.format(url=stub.url))
        yield stub


@pytest.fixture
def checked() -> Callable[[CollabJob, JobResult], None]:
    """What is true of every session that has ended, read from its streams alone."""
    return check_trace


def check_trace(job: CollabJob, result: JobResult) -> None:
    events = [event.to_wire() for event in job.events()]
    kinds = [event["event_type"] for event in events]
    assert kinds[:2] == ["MAPSessionStarted", "MAPRolesAssigned"]
    assert kinds[-1] == "MAPSessionCompleted"
    dispatched = {
        e["payload"]["token_id"]: e["payload"] for e in events if e["event_type"] == "MAPTurnDispatched"
    }
    completed = [e["payload"] for e in events if e["event_type"] == "MAPTurnCompleted"]
    assert sorted(p["token_id"] for p in completed) == sorted(dispatched)
    fences = [e["payload"]["fence"] for e in events if e["event_type"] == "MAPTurnDispatched"]
    assert fences == sorted(set(fences))
    written = [
        (message.turn_number, message.token_id) for message in result.dialog.messages if message.speaker
    ]
    assert len(written) == len(set(written)), "a turn is written once"
    for number, token in written:
        assert dispatched[token]["turn_number"] == number


@pytest.fixture
def monitor(installation) -> Iterator[Monitor]:
    app = create_worker_app(load_settings(**installation.settings))
    monitor = Monitor(app)
    monitor.start()
    with app.connection_for_write() as connection, app.events.Dispatcher(connection) as dispatcher:

        def hears() -> bool:
            dispatcher.send("worker-heartbeat")
            return bool(monitor.heard)

        until(hears, what="the monitor hears")
    yield monitor
    monitor.close()

"""A server with a password, and a worker whose environment holds secrets."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path

import pytest

from live import REGISTRY, LiveWorker, until
from scaling import patient
from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import Settings, load_settings
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.workers.worker_app import create_worker_app

SECRETS = {"HOUSE_API_KEY": "not-shaped-like-a-key", "UPSTREAM_TOKEN": "nor-this-like-a-token"}

AGENTS = """
[agents.telltale]
kind = "python"
callable = "stub_agents.security:telltale"

[agents.dumpable]
kind = "python"
callable = "stub_agents.security:dumpable"

[models.house]
model = "m"
base_url = "http://127.0.0.1:1/v1"
api_key_env = "HOUSE_API_KEY"

[agents.model]
kind = "llm"
model = "house"
"""


@dataclass
class Guarded:
    """One worker on a server with a password; `environment` is that of the worker."""

    folder: Path
    settings: Settings
    environment: dict[str, str]
    password: str
    worker: LiveWorker

    @property
    def secrets(self) -> list[str]:
        return [self.password, *SECRETS.values()]

    def submit(self, *agents: str, **how: object) -> CollabJob:
        people = [Participant(participant_id=f"p{i}") for i, _ in enumerate(agents)]
        collab = Collab(title="t", purpose="p", mode="round_robin", participants=people)
        bound = {f"p{i}": name for i, name in enumerate(agents)}
        return Client(self.settings).submit(collab, agents=bound, **how)


@pytest.fixture(scope="module")
def guarded(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Guarded]:
    folder = tmp_path_factory.mktemp("guarded")
    (folder / "agents.toml").write_text(REGISTRY + AGENTS)
    with EmbeddedServer(folder / "server", durable=False, bound=True) as server:
        password = server.url.split(":")[2].partition("@")[0]
        # The way Celery's transport does not understand, and hides nowhere.
        url = server.url.replace(f":{password}@", "") + f"?password={password}"
        environment = {
            "SYMPOSIA_REDIS_URL": url,
            "SYMPOSIA_AGENTS_FILE": str(folder / "agents.toml"),
            "SYMPOSIA_DATA_DIR": str(folder),
            "SYMPOSIA_SWEEP_INTERVAL_S": "0.2",
            **SECRETS,
        }
        settings = load_settings(redis_url=url, agents_file=folder / "agents.toml", data_dir=folder)
        worker = LiveWorker(
            "w1", folder, environment, app="symposia.workers", concurrency=2, as_installed=True
        )
        try:
            worker.wait_ready()
            until(
                Client(settings)._installation.sessions.workers.list_alive,
                what="the worker has announced itself",
            )
            app = create_worker_app(settings)
            until(
                lambda: app.control.ping(timeout=patient(2), limit=1),
                what="the worker hears what all are told",
            )
            yield Guarded(folder, settings, environment, password, worker)
        finally:
            worker.close()

"""A real HTTP server and a real worker, with an archive, on one real Valkey."""

from __future__ import annotations

import json
from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass
from pathlib import Path
from typing import Any

import pytest

from live import REGISTRY, LiveWorker
from servers.dashboard import AGENTS
from servers.web import WebServer
from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings

HAIKU = """
title: A haiku
purpose: Write {lines} lines about {topic}.
mode: pair
participants:
  - {participant_id: poet, agent: say}
  - {participant_id: editor, agent: say}
inputs:
  - {name: topic, help: What it is about.}
  - {name: lines, type: integer, default: 3}
stop: {max_rounds: 1}
"""
#: A remote system that does not answer.
PARTNER = """
[webhooks]
networks = ["127.0.0.0/8"]

[agents.partner]
kind = "external"
url = "http://127.0.0.1:9/turns"
secret_env = "PARTNER_SECRET"
attempts = 20
"""

ASKING = """
title: May I?
purpose: Ask Ben.
mode: round_robin
participants:
  - {participant_id: ann, agent: say}
  - {participant_id: ben, kind: human}
stop: {max_rounds: 1}
"""


@dataclass
class WebInstallation:
    """Where sessions run, and the server that serves them."""

    folder: Path
    settings: dict[str, str]
    client: Client
    server: WebServer

    @contextmanager
    def serve(self, folder: Path, files: Mapping[str, str]) -> Iterator[WebServer]:
        """Another server, with these session files, too: name -> text."""
        jobs = json.loads(self.settings["jobs"])
        for name, text in files.items():
            jobs[name] = str(file := folder / f"{name}.yaml")
            file.write_text(text)
        server = WebServer(folder, {**self.settings, "jobs": json.dumps(jobs)})
        try:
            yield server.start()
        finally:
            server.close()


def installation_settings(folder: Path, redis_url: str) -> dict[str, str]:
    """Settings of all processes."""
    (folder / "registry.toml").write_text(REGISTRY + AGENTS.format(url="http://127.0.0.1:9") + PARTNER)
    (folder / "haiku.yaml").write_text(HAIKU)
    return {
        "redis_url": redis_url,
        "data_dir": str(folder / "data"),
        "agents_file": str(folder / "registry.toml"),
        "jobs": f'{{"haiku": "{folder / "haiku.yaml"}"}}',
        "sweep_interval_s": "0.2",
        "redispatch_after_s": "2",
        "archive": "true",
        "archive_interval_s": "0.2",
    }


@pytest.fixture(scope="package")
def web(tmp_path_factory: pytest.TempPathFactory) -> Iterator[WebInstallation]:
    """One Valkey, worker and server for all modules: a test looks for its own sessions."""
    folder = tmp_path_factory.mktemp("web")
    with EmbeddedServer(folder / "server", durable=False, bound=True) as server, ExitStack() as stack:
        settings = installation_settings(folder, server.url)
        environment = {f"SYMPOSIA_{name.upper()}": value for name, value in settings.items()}
        environment["PARTNER_SECRET"] = "whsec_c29tZWJvZHkgZWxzZQ=="
        worker = LiveWorker("w1", folder, environment, app="symposia.workers", concurrency=8)
        stack.callback(worker.close)
        web_server = WebServer(folder, settings)
        stack.callback(web_server.close)
        web_server.start()
        worker.wait_ready()
        chosen: dict[str, Any] = settings
        client = stack.enter_context(Client(load_settings(**chosen)))
        yield WebInstallation(folder, settings, client, web_server)


@pytest.fixture
def server(web: WebInstallation) -> WebServer:
    """The shared server."""
    return web.server

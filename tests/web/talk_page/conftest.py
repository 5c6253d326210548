"""A worker, `symposia serve` and a browser on its page to talk; the tests of all modules share them."""

from __future__ import annotations

import json
import os
from collections.abc import Callable, Iterator
from contextlib import ExitStack, closing
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import pytest
from playwright.sync_api import Browser

from live import LiveWorker
from servers.browser import Tab, own_browser, own_tab
from servers.web import WebServer
from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings

#: Functions of `talk.agents`.
AGENTS = ("writer", "editor", "reporter", "hostile")
_AGENT = '[agents.{0}]\nkind = "python"\ncallable = "talk.agents:{0}"\n'
_SCHEMA = {"type": "object", "required": ["line"], "properties": {"line": {"type": "string"}}}


def files(gates: Path) -> dict[str, dict[str, Any]]:
    """The session files of the server, by name."""
    lines: dict[str, Any] = {
        "inputs": [
            {"name": "topic", "help": "What the lines are about."},
            {"name": "count", "type": "integer", "default": 3},
            {"name": "tone", "choices": ["warm", "dry"], "default": "warm"},
            {"name": "rhyme", "type": "boolean", "default": False, "help": "Lines must rhyme."},
        ],
        "title": "{topic}",
        "purpose": "Write {count} {tone} lines for the door of the library.",
        "mode": "round_robin",
        "participants": [
            {"participant_id": "writer", "agent": {"agent": "writer", "parameters": {"gates": str(gates)}}},
            {"participant_id": "editor", "agent": "editor"},
            {"participant_id": "ben", "kind": "human", "display_name": "Ben"},
        ],
        "stop": {"max_turns": 3},
    }
    votes = {
        "title": "A vote",
        "purpose": "Count the votes on the lines, and say which one is painted above the door.",
        "mode": "round_robin",
        "participants": [{"participant_id": "reporter", "agent": "reporter"}],
        "output": _SCHEMA,
        "stop": {"max_turns": 1},
    }
    hostile = {
        "title": "<b>Hostile</b> \u202etexts",
        "purpose": "<script>pwned=1</script>",
        "mode": "round_robin",
        "participants": [{"participant_id": "ann", "agent": "hostile"}],
        "stop": {"max_turns": 1},
    }
    return {"hostile": hostile, "lines": lines, "votes": votes}


@dataclass
class TalkServer:
    """`symposia serve`, and what its sessions wait for."""

    web: WebServer
    gates: Path

    def kill(self) -> None:
        """Kills the server; `web.start` starts it again."""
        self.web.kill()
        self.web.http.close()

    def open_gate(self, title: str) -> None:
        """Lets the writer of a session end its turn."""
        (self.gates / title).touch()


@pytest.fixture(scope="package")
def server(tmp_path_factory: pytest.TempPathFactory) -> Iterator[TalkServer]:
    """The server, with a worker and its own Redis."""
    folder = tmp_path_factory.mktemp("talk")
    gates = folder / "gates"
    gates.mkdir()
    (folder / "agents.toml").write_text("".join(map(_AGENT.format, AGENTS)))
    for name, session in files(gates).items():
        (folder / f"{name}.json").write_text(json.dumps(session))
    with EmbeddedServer(folder / "server", durable=False, bound=True) as redis, ExitStack() as stack:
        settings = {
            "redis_url": redis.url,
            "data_dir": str(folder / "data"),
            "agents_file": str(folder / "agents.toml"),
            "jobs": json.dumps({name: str(folder / f"{name}.json") for name in files(gates)}),
            "sweep_interval_s": "0.2",
        }
        environment = {f"SYMPOSIA_{name.upper()}": value for name, value in settings.items()}
        worker = LiveWorker("talk", folder, environment, app="symposia.workers", concurrency=4)
        stack.callback(worker.close)
        web = WebServer(folder, settings)
        stack.callback(web.close)
        web.start()
        worker.wait_ready()
        yield TalkServer(web, gates)


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser."""
    with own_browser() as browser:
        yield browser


@pytest.fixture
def open_tab(server: TalkServer, browser: Browser) -> Iterator[Callable[..., Tab]]:
    """Opens the page in tabs, which must not report an error that the test does not expect."""
    tabs: list[tuple[Tab, tuple[str, ...]]] = []
    with ExitStack() as stack:

        def open_tab(path: str = "/", *, expected: tuple[str, ...] = (), **options: object) -> Tab:
            tab = stack.enter_context(own_tab(browser, f"http://127.0.0.1:{server.web.port}", **options))
            tabs.append((tab, expected))
            tab.page.goto(path)
            return tab

        yield open_tab
        errors = [
            error for tab, expected in tabs for error in tab.errors if not any(it in error for it in expected)
        ]
        assert errors == []


@pytest.fixture
def guarded(server: TalkServer) -> Iterator[tuple[str, str]]:
    """A second server for the same sessions, which needs tokens: its address, and a token for the page."""
    web = WebServer(server.web.folder, server.web.settings, options=())
    chosen: dict[str, Any] = dict(web.settings)
    with closing(web), Client(load_settings(**chosen)) as client:
        web.start()
        token = client.tokens.create("ann", tenant="library", scopes=["submit", "read", "reply"])
        yield f"http://127.0.0.1:{web.port}", token.text


@pytest.fixture
def title(server: TalkServer) -> Iterator[str]:
    """A title for a session, whose gate is open after the test."""
    title = f"Lines {uuid4().hex[:8]}"
    yield title
    server.open_gate(title)


@pytest.fixture
def pictures(tmp_path: Path) -> Path:
    """The folder for pictures: `make screenshots` keeps them."""
    return Path(os.environ.get("SYMPOSIA_TEST_SCREENSHOTS", tmp_path))

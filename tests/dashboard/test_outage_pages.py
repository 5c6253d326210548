"""Open pages while all workers are killed, Redis is stopped, or Flower is restarted: they say so, and recover by themselves."""

from __future__ import annotations

import re
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

import pytest
from playwright.sync_api import Browser, Page, expect

from live import LiveWorker, until
from servers.browser import Tab, own_browser, own_tab
from servers.flower import FlowerServer
from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns

#: Playwright runs an event loop in the thread of a test.
pytestmark = [
    pytest.mark.long,
    pytest.mark.timeout(300),
    pytest.mark.filterwarnings("ignore:a blocking call waits for a session"),
]

PATHS = ("/collabs", "/inbox", "/schedules", "/reviews")
LIVE = re.compile("^Live")


@dataclass
class Installation:
    """A server, workers and a Flower that a test may end."""

    folder: Path
    server: EmbeddedServer
    settings: dict[str, str]
    flower: FlowerServer
    client: Client
    browser: Browser
    stack: ExitStack
    workers: list[LiveWorker] = field(default_factory=list)

    def start_worker(self) -> None:
        environment = {f"SYMPOSIA_{name.upper()}": value for name, value in self.settings.items()}
        name = f"w{len(self.workers) + 1}"
        worker = LiveWorker(name, self.folder, environment, app="symposia.workers", concurrency=2)
        self.stack.callback(worker.close)
        self.workers.append(worker.wait_ready())

    @property
    def gate(self) -> Path:
        return self.folder / "gate"

    def submit(self) -> CollabJob:
        """A session whose first turn waits for the gate."""
        people = [Participant(participant_id=name) for name in ("ann", "bob")]
        collab = Collab(title="A talk", purpose="Talk.", mode="round_robin", participants=people)
        agents: dict[str, Any] = {"ann": "gated", "bob": "say"}
        job = self.client.submit(collab, agents=agents, stop=MaxTurns(2), parameters={"gate": str(self.gate)})
        until(lambda: any(turn.status == "speaking" for turn in job.state().open_turns()), what="ann speaks")
        return job

    def open(self, *paths: str) -> dict[str, Page]:
        """Open pages, each of a profile of its own. A browser reports requests that failed."""
        return {path: self._tab(path).page for path in paths}

    def _tab(self, path: str) -> Tab:
        tab = self.stack.enter_context(own_tab(self.browser, self.flower.url))
        tab.page.goto(path)
        return tab


@pytest.fixture(scope="module")
def browser() -> Iterator[Browser]:
    """A browser."""
    with own_browser() as browser:
        yield browser


@pytest.fixture
def installation(tmp_path: Path, browser: Browser, settings: dict[str, str]) -> Iterator[Installation]:
    with ExitStack() as stack:
        server = stack.enter_context(EmbeddedServer(tmp_path / "server", bound=True))
        settings = settings | {"redis_url": server.url}
        flower = FlowerServer(tmp_path, settings).start()
        stack.callback(flower.kill)
        client = stack.enter_context(Client(load_settings(**settings)))
        found = Installation(tmp_path, server, settings, flower, client, browser, stack)
        found.start_worker()
        yield found
        found.gate.touch()


def expect_said(pages: dict[str, Page], words: str, level: str) -> None:
    for path, page in pages.items():
        expect(page.locator("#health .notice"), path).to_contain_text(words)
        expect(page.locator("#health .fresh"), path).to_have_text(re.compile(f"^{level}"))


def expect_live(pages: dict[str, Page]) -> None:
    for path, page in pages.items():
        expect(page.locator("#health .notice"), path).to_have_count(0)
        expect(page.locator("#health .fresh"), path).to_have_text(LIVE)


def prefix_of_status(page: Page) -> str:
    return str(page.evaluate("getComputedStyle(document.getElementById('status'), '::before').content"))


def test_pages_say_that_all_workers_are_lost(installation: Installation):
    job = installation.submit()
    pages = installation.open(*PATHS, f"/collabs/{job.id}")
    session = pages[f"/collabs/{job.id}"]
    why = session.locator("#session-notice .notice")
    expect_live(pages)
    expect(why).to_contain_text("ann speaks for")
    installation.workers[0].kill()
    expect_said(pages, "No worker since", "Live")
    expect(why).to_contain_text("Worker w1@live is lost since")
    expect(why).to_contain_text("ann was speaking in turn 1.")
    expect(pages["/inbox"].locator("#health .notice")).to_contain_text("1 session cannot go on")
    installation.start_worker()
    expect_live(pages)
    expect(why).to_contain_text("on worker w2@live")
    installation.gate.touch()
    expect(why).to_contain_text("Completed at")
    expect(session.locator("#health .fresh")).to_have_text(re.compile("^Ended"))


def test_pages_say_that_redis_does_not_answer(installation: Installation):
    job = installation.submit()
    pages = installation.open(*PATHS, f"/collabs/{job.id}")
    session = pages[f"/collabs/{job.id}"]
    expect_live(pages)
    assert prefix_of_status(session) == "none"
    installation.server.stop()
    expect_said(pages, "Redis does not answer since", "Stale")
    assert prefix_of_status(session) == '"was: "'
    late = installation.open("/collabs", f"/collabs/{job.id}", "/inbox")
    expect_said(late, "Redis does not answer since", "Stale")
    health = installation.flower.json("/api/collabs")["health"]
    assert (health["level"], health["redis_away_ms"] is not None) == ("stale", True)
    installation.server.start()
    expect_live(pages | late)
    expect(session.locator("#session-notice")).to_contain_text("ann speaks for")
    installation.gate.touch()
    for page in (session, late[f"/collabs/{job.id}"]):
        expect(page.locator("#status")).to_have_text("completed")


def test_pages_say_that_flower_does_not_answer(installation: Installation):
    job = installation.submit()
    pages = installation.open(*PATHS, f"/collabs/{job.id}")
    expect_live(pages)
    installation.flower.kill()
    expect_said(pages, "No connection to Flower since", "Stale")
    installation.flower.start()
    expect_live(pages)

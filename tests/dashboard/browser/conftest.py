"""`symposia up` with Flower, and a browser on its pages; the tests of all modules share both."""

from __future__ import annotations

import json
import os
import signal
from collections.abc import Callable, Iterator
from contextlib import ExitStack, contextmanager, suppress
from dataclasses import dataclass
from pathlib import Path
from typing import Any
from uuid import uuid4

import psutil
import pytest
from playwright.sync_api import Browser

from live import REGISTRY, until
from processes.gone import command_of
from processes.terminal import Running, Terminal
from review_tools.schedules import PANEL
from servers.browser import Tab, own_browser, own_tab
from servers.dashboard import AGENTS, CREDENTIALS
from servers.model_stub import StubModel
from servers.ports import own_port
from symposia.client import Client
from symposia.client.pruning import prune
from symposia.config.settings import Settings, load_settings
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, CollabStatus, Participant
from symposia.reviews.job import ReviewJob
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import SESSIONS, session_key
from symposia.state.sessions.index import SessionIndex


def pytest_collection_modifyitems(items: list[pytest.Item]) -> None:
    """Allow waiting for sessions: Playwright runs an event loop in the thread of a test."""
    for item in items:
        if Path(__file__).parent in item.path.parents:
            item.add_marker(pytest.mark.filterwarnings("ignore:a blocking call waits for a session"))


_JOB = {
    "title": "A talk",
    "purpose": "Talk.",
    "mode": "round_robin",
    "participants": [{"participant_id": "ann", "agent": "say"}],
    "stop": {"max_turns": 1},
}
#: Jobs for schedules.
JOBS: dict[str, dict[str, Any]] = {
    "talk": _JOB,
    "failing": {**_JOB, "participants": [{"participant_id": "ann", "agent": "hostile_fail"}]},
}
#: Functions of `stub_agents.hostile`.
HOSTILE = ("say", "fail", "ask", "lead", "expert", "learn", "review")
#: Waits with files that have `held` in their names, until the file `gate` is there.
REVIEWER = """
[agents.holds]
kind = "python"
callable = "stub_agents.review:holds"

[agents.shop_reviewer]
kind = "python"
callable = "stub_agents.shop:review"

[agents.asks]
kind = "python"
callable = "stub_agents.asking:given"
"""
#: A panel whose failed turns are skipped at once.
SKIPPING_PANEL = PANEL + 'policy = {{ attempts = 1, backoff_s = 0, then = "skip" }}\n'
ENDED = {CollabStatus.COMPLETED, CollabStatus.CANCELLED}
#: Opens a path of Flower in a tab of its own.
OpenTab = Callable[..., Tab]


@dataclass
class Services:
    """What `symposia up` runs."""

    folder: Path
    url: str
    client: Client
    model: StubModel
    settings: Settings
    #: The command.
    running: Running

    def expire(self, job: CollabJob) -> None:
        """Removes a session from Redis once the archive has its end."""
        reader = until(self.client.archived, what="there is an archive")
        until(lambda: reader.has_ended(job.id), what="the session is archived")
        with connect(self.client.redis_url) as redis:
            redis.delete(*redis.scan_iter(session_key(job.id, "*")))

    def remove_ended_sessions(self) -> None:
        """Removes all sessions that have ended, from Redis and from the archive."""
        with connect(self.client.redis_url) as redis:
            for session_id in redis.zrange(SESSIONS, 0, -1):
                if redis.hget(session_key(session_id, "session"), "status") in ENDED:
                    redis.delete(*redis.scan_iter(session_key(session_id, "*")))
            assert self.client.archive is not None
            prune(self.client.archive, redis, before_ms=SessionIndex(redis).now_ms())

    def kill_flower(self) -> None:
        """Kills Flower. It is started again at once."""
        before = self._flower_processes()
        assert before
        for pid in before:
            psutil.Process(pid).kill()
        until(lambda: not before & self._flower_processes(), what="Flower has ended")

    @contextmanager
    def without_flower(self) -> Iterator[None]:
        """Kills Flower; its supervisor starts it again after the block."""
        supervisor = self.running.process.pid
        os.kill(supervisor, signal.SIGSTOP)
        try:
            self.kill_flower()
            yield
        finally:
            os.kill(supervisor, signal.SIGCONT)

    def wait_for_flower(self) -> None:
        """Waits until Flower answers."""
        port = self.settings.flower_port
        until(lambda: port in listening_ports(self._flower_processes()), what="Flower listens")

    def _flower_processes(self) -> set[int]:
        family = psutil.Process(self.running.process.pid).children(recursive=True)
        return {it.pid for it in family if "flower" in command_of(it)}


def listening_ports(pids: set[int]) -> set[int]:
    """The TCP ports on which processes accept connections."""
    found = set()
    for pid in pids:
        with suppress(psutil.NoSuchProcess):
            connections = psutil.Process(pid).net_connections(kind="tcp")
            found |= {it.laddr.port for it in connections if it.status == psutil.CONN_LISTEN}
    return found


class GatedSessions:
    """Submits sessions whose agents wait for a gate."""

    def __init__(self, services: Services) -> None:
        self.services = services
        self.title = f"Session {uuid4().hex[:8]}"
        self.gate = services.folder / self.title.replace(" ", "-")

    def submit(self, mode: str, agents: dict[str, Any], **options: Any) -> CollabJob:
        """Submits a session. `people`: those of the participants who are asked questions by others."""
        people = options.pop("people", ())
        roster = [Participant(participant_id=it, kind="human" if it in people else "agent") for it in agents]
        collab = Collab(title=self.title, purpose="see that it works", mode=mode, participants=roster)
        options.setdefault("parameters", {"gate": str(self.gate)})
        return self.services.client.submit(collab, agents=agents, **options)

    def open_gate(self) -> None:
        self.gate.touch()

    def step(self, turn: int) -> None:
        """Lets an agent `stepped` end a turn."""
        self.gate.with_suffix(f".{turn}").touch()


def more_agents() -> str:
    """Agents whose texts are hostile, such as `hostile_say`, and a reviewer, for the registry."""
    line = '[agents.hostile_{0}]\nkind = "python"\ncallable = "stub_agents.hostile:{0}"\n'
    return "".join(line.format(it) for it in HOSTILE) + REVIEWER


@pytest.fixture(scope="package")
def services(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Services]:
    """All services of one machine, started by the command that a person types."""
    folder = tmp_path_factory.mktemp("up")
    port = own_port()
    with ExitStack() as stack:
        model = stack.enter_context(StubModel())
        (folder / "agents.toml").write_text(REGISTRY + AGENTS.format(url=model.url) + more_agents())
        for name, session in JOBS.items():
            (folder / f"{name}.json").write_text(json.dumps(session))
        settings = {
            "data_dir": str(folder / "data"),
            "agents_file": str(folder / "agents.toml"),
            "archive": "true",
            "flower_port": str(port),
            "worker_processes": "1",
            "sweep_interval_s": "0.2",
            "redispatch_after_s": "2",
            "stuck_after_s": "2",  # queued sessions are stuck soon
            "jobs": json.dumps({name: str(folder / f"{name}.json") for name in JOBS}),
        }
        terminal = Terminal(folder, settings)
        stack.callback(terminal.close)
        environment = stack.enter_context(pytest.MonkeyPatch.context())
        environment.setenv("FLOWER_BASIC_AUTH", CREDENTIALS)
        running = terminal.start("up", "--no-local-model", "--concurrency", "8")
        running.until("up       | ready", timeout_s=60)
        chosen = load_settings(**settings)
        client = stack.enter_context(Client(chosen))
        yield Services(folder, f"http://127.0.0.1:{port}", client, model, chosen, running)
        assert running.interrupt().ended().code == 0


@pytest.fixture(scope="module", autouse=True)
def own_sessions(services: Services) -> Iterator[None]:
    """The lists show no ended sessions of other modules."""
    yield
    services.remove_ended_sessions()


@pytest.fixture(scope="package")
def browser() -> Iterator[Browser]:
    """A browser."""
    with own_browser() as browser:
        yield browser


@pytest.fixture
def open_tab(services: Services, browser: Browser) -> Iterator[OpenTab]:
    """Opens tabs, which must not report an error until the end of the test."""
    tabs: list[Tab] = []
    with ExitStack() as stack:

        def open_tab(path: str, *, credentials: str | None = CREDENTIALS, **options: object) -> Tab:
            tab = stack.enter_context(own_tab(browser, services.url, credentials, **options))
            tabs.append(tab)
            tab.page.goto(path)
            return tab

        yield open_tab
        assert [tab.errors for tab in tabs if tab.errors] == []


@pytest.fixture
def gated_sessions(services: Services) -> Iterator[GatedSessions]:
    """Submits sessions whose agents wait for a gate, which is open after the test."""
    gated_sessions = GatedSessions(services)
    yield gated_sessions
    gated_sessions.open_gate()


@pytest.fixture
def schedule(services: Services) -> Iterator[Callable[[str, str], None]]:
    """Adds schedules of jobs; they are removed after the test."""
    names = []

    def schedule(name: str, job: str) -> None:
        services.client.schedules.add(name, cron="0 3 * * *", zone="Europe/Berlin", job=job)
        names.append(name)

    yield schedule
    for name in names:
        services.client.schedules.remove(name)


@pytest.fixture(scope="package")
def review(services: Services, tmp_path_factory: pytest.TempPathFactory) -> Callable[..., ReviewJob]:
    """Starts a review of files with these names by one agent."""

    def review(agent: str, *names: str, root_name: str | None = None) -> ReviewJob:
        folder = tmp_path_factory.mktemp("review")
        panels = folder / "panels.toml"
        panels.write_text(SKIPPING_PANEL.format(name=agent, agent=agent))
        files = folder / "files"
        files.mkdir()
        for name in names:
            # Of its own: results of the same line are used again, findings compared with those of the same root.
            (files / name).write_text(f"one line of {folder.name}\n")
        root = root_name or folder.name
        return services.client.review(files, panel=agent, root_name=root, panels_file=panels)

    return review

"""A server, workers and a Flower of its own, which a test may end and start again."""

from __future__ import annotations

from collections.abc import Iterator, Mapping
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from pathlib import Path
from typing import Any

from live import LiveWorker, until
from review_tools.schedules import PANEL
from servers.flower import FlowerServer
from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.reviews.job import ReviewJob


@dataclass
class Expendable:
    """Services that a test may end."""

    folder: Path
    server: EmbeddedServer
    settings: Mapping[str, str]
    flower: FlowerServer
    client: Client
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
        """The file that the agent of the first turn waits for."""
        return self.folder / "gate"

    def submit(self) -> CollabJob:
        """Submits a session whose first turn waits for the gate, and waits until it runs."""
        people = [Participant(participant_id=name) for name in ("ann", "bob")]
        collab = Collab(title="A talk", purpose="Talk.", mode="round_robin", participants=people)
        agents: dict[str, Any] = {"ann": "gated", "bob": "say"}
        job = self.client.submit(collab, agents=agents, stop=MaxTurns(2), parameters={"gate": str(self.gate)})
        until(lambda: any(turn.status == "speaking" for turn in job.state().open_turns()), what="ann speaks")
        return job

    def review(self) -> ReviewJob:
        """Starts a review whose reviewer does not answer in the format of findings."""
        files, panels = self.folder / "files", self.folder / "panels.toml"
        files.mkdir()
        (files / "a.txt").write_text("one line\n")
        panels.write_text(PANEL.format(name="say", agent="say"))
        return self.client.review(files, panel="say", root_name="files", panels_file=panels)


@contextmanager
def expendable_services(folder: Path, settings: Mapping[str, str]) -> Iterator[Expendable]:
    """Services with one worker. `settings`: those of all processes, without the server."""
    with ExitStack() as stack:
        server = stack.enter_context(EmbeddedServer(folder / "server", bound=True))
        own = {**settings, "redis_url": server.url}
        flower = FlowerServer(folder, own).start()
        stack.callback(flower.kill)
        client = stack.enter_context(Client(load_settings(**own)))
        services = Expendable(folder, server, own, flower, client, stack)
        services.start_worker()
        yield services
        services.gate.touch()

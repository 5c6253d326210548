"""A worker whose agents use dialog memory, on a server of their own."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass
from pathlib import Path
from typing import Any

from live import LiveWorker
from scaling import patient
from stub_agents.memory import REGISTRY
from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings
from symposia.jobs.collab import CollabJob
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns

#: Seconds for which no turn goes on without its memory, whatever else the machine does.
LONG_S = patient(20)


@dataclass
class Room:
    """A worker, and how to talk to it."""

    folder: Path
    settings: dict[str, Any]
    worker: LiveWorker

    @property
    def client(self) -> Client:
        return Client(load_settings(**self.settings))

    def submit(
        self,
        *agents: str,
        turns: int,
        mode: str = "round_robin",
        as_: dict[str, str] | None = None,
        **how: Any,
    ) -> CollabJob:
        """Submit a session of agents that answer in turn, each named like its participant unless `as_` is given."""
        people = [Participant(participant_id=name) for name in agents]
        collab = Collab(title="A trip", purpose="book a trip", mode=mode, participants=people)
        seats = {name: (as_ or {}).get(name, name) for name in agents}
        return self.client.submit(collab, agents=seats, stop=MaxTurns(turns), **how)

    def said(self, job: CollabJob) -> list[str]:
        """What was said, once the session has ended."""
        return [message.content for message in job.result(timeout=patient(50)).dialog.messages]


def open_room(folder: Path, *, patience_s: float = LONG_S, **settings: Any) -> Iterator[Room]:
    """A server and a worker of their own, gone afterwards. For the memory each turn waits `patience_s`."""
    (folder / "agents.toml").write_text(REGISTRY)
    with EmbeddedServer(folder / "server", durable=False, bound=True) as server:
        chosen = {
            "redis_url": server.url,
            "agents_file": folder / "agents.toml",
            "data_dir": folder,
            "redispatch_after_s": 2,
            "sweep_interval_s": 0.2,
            **settings,
        }
        environment = {f"SYMPOSIA_{name.upper()}": str(value) for name, value in chosen.items()}
        environment["MEMORY_PATIENCE_S"] = str(patience_s)
        worker = LiveWorker("memory", folder, environment, app="dialog_memory.app", concurrency=4)
        try:
            yield Room(folder, chosen, worker.wait_ready())
        finally:
            worker.close()

"""An installation whose state is kept, and one that finishes it: settings, agents, a worker, a model."""

from __future__ import annotations

import os
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

from chaos.worker.agents import REGISTRY as CHAOS_AGENTS
from chaos.worker.payments import REGISTRY as PAYER
from chaos.worker.payments import PayingModel
from live import SUPPORT, LiveWorker
from processes.beats import LiveBeat
from review_tools.fixture import AGENTS as REVIEWERS
from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import Settings, child_environment, load_settings
from symposia.config.sources import FILE_VARIABLE, PREFIX, variable_of
from upgrades.clients import ClientProcess

#: `stepped` waits for the file of its turn, or for that of all turns.
STEPPED = """
[agents.stepped]
kind = "python"
callable = "stub_agents.live:stepped"
window = 1000
"""
#: `gated` is an agent of both.
AGENTS = CHAOS_AGENTS + STEPPED + REVIEWERS.replace("[agents.gated]", "[agents.waits]") + PAYER
PANELS = """
[slow]
mode = "round_robin"
purpose = "Review it."
stop = { max_rounds = 1 }
seats = [{ name = "reviewer", agent = "holds" }]
"""
JOB = """
title: {name}
purpose: Say what is to be said today.
mode: pair
participants:
  - {{participant_id: ann, agent: stepped}}
  - {{participant_id: bob, agent: stepped}}
stop: {{max_rounds: 1}}
parameters: {{gate: {name}.gate, log: calls.jsonl}}
"""
#: Files of the jobs of schedules: the first is kept in the middle, the second may run at any time.
JOBS = {"schedule": "job.yaml", "tick": "tick.yaml"}


@dataclass
class UpgradeInstallation:
    """One installation. Paths in its sessions are relative to its folder, where its processes run.

    `code`, of a process: folder with the code of some version; None: that of today.
    """

    folder: Path
    redis_url: str
    model_url: str
    lease_s: float = 5
    stack: ExitStack = field(default_factory=ExitStack)

    def write_files(self) -> None:
        """Write the files of its user: agents, panels, the job of a schedule, a root to review."""
        (self.folder / "agents.toml").write_text(AGENTS.format(url=self.model_url))
        (self.folder / "panels.toml").write_text(PANELS)
        for name, job in JOBS.items():
            (self.folder / job).write_text(JOB.format(name=name))
        (self.folder / "shop").mkdir()
        for name in ("cart", "held", "till"):
            (self.folder / "shop" / f"{name}.txt").write_text(f"the {name}\n")

    @property
    def _values(self) -> dict[str, Any]:
        """Return the settings that differ from their defaults."""
        return {
            "redis_url": self.redis_url,
            "agents_file": self.folder / "agents.toml",
            "data_dir": self.folder,
            "archive": True,
            "archive_interval_s": 0.2,
            "lease_s": self.lease_s,
            "redispatch_after_s": 1,
            "sweep_interval_s": 0.2,
            "review_roots": {"shop": self.folder / "shop"},
            "jobs": {Path(job).stem: self.folder / job for job in JOBS.values()},
        }

    @cached_property
    def settings(self) -> Settings:
        """Return the settings of client and worker."""
        return load_settings(**self._values)

    def environment(self, code: Path | None = None) -> dict[str, str]:
        """Return the environment of a process, without settings that an earlier release may not know."""
        known = {FILE_VARIABLE, *map(variable_of, self._values)}
        kept = {
            name: value
            for name, value in child_environment(self.settings).items()
            if name in known or not name.startswith(PREFIX)
        }
        folders = [code, SUPPORT, os.environ.get("PYTHONPATH")]
        return {**kept, "PYTHONPATH": os.pathsep.join(str(it) for it in folders if it)}

    @property
    def archive_file(self) -> Path:
        """Return the SQLite file of the archive."""
        return self.folder / "archive.sqlite3"

    @cached_property
    def client(self) -> Client:
        """Return the client of its user."""
        return self.stack.enter_context(Client(self.settings))

    def start_worker(self, name: str = "worker", *, code: Path | None = None) -> LiveWorker:
        """Start a worker, and wait until it is ready."""
        worker = LiveWorker(
            name,
            self.folder,
            self.environment(),
            app="symposia.workers",
            concurrency=40,
            code=code,
        )
        self.stack.callback(worker.close)
        return worker.wait_ready()

    def start_beat(self, name: str, *, code: Path | None = None) -> LiveBeat:
        """Start a beat, and wait until it is ready."""
        beat = LiveBeat(name, self.folder, self.environment(code), code=code)
        self.stack.callback(beat.close)
        return beat.wait_ready()

    def start_client(self, name: str, *, code: Path | None = None) -> ClientProcess:
        """Start a client in a process of its own."""
        client = ClientProcess(name, self.folder, self.environment(code))
        self.stack.callback(client.close)
        return client

    def open_gate(self, name: str, *turns: int) -> None:
        """Let the agents `stepped` of a session speak: in these turns, or in all."""
        for file in [f"{name}.gate.{turn}" for turn in turns] or [f"{name}.gate"]:
            (self.folder / file).touch()


@contextmanager
def upgrade_installation(folder: Path, redis_url: str) -> Iterator[UpgradeInstallation]:
    """Yield an installation with its files and a model, and end its processes."""
    with PayingModel() as model:
        installation = UpgradeInstallation(folder, redis_url, model.url)
        installation.write_files()
        with installation.stack:
            yield installation


@contextmanager
def empty_installation(folder: Path) -> Iterator[UpgradeInstallation]:
    """Yield an installation with a server of its own, and nothing in it."""
    (installation_folder := folder / "installation").mkdir()
    with (
        EmbeddedServer(folder, durable=False, bound=True) as server,
        upgrade_installation(installation_folder, server.url) as installation,
    ):
        yield installation

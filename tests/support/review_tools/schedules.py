"""An installation for schedules: a Redis, workers and beats as real processes, and a job to be done."""

from __future__ import annotations

import json
import os
from collections.abc import Iterator
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import cached_property
from pathlib import Path
from typing import Any

import pytest

from live import REGISTRY, SUPPORT, LiveWorker
from processes.beats import LiveBeat
from review_tools.fixture import AGENTS
from symposia.client import Client
from symposia.config.settings import child_environment, load_settings

JOB = """
title: A line a day
purpose: Say what is to be said today.
mode: pair
participants:
  - {{participant_id: ann, agent: {agent}}}
  - {{participant_id: bob, agent: say}}
stop: {{max_rounds: 1}}
parameters: {{log: {log}, gate: {gate}, gate_turn: 1}}
"""

PANEL = """
[{name}]
mode = "round_robin"
purpose = "Review it."
stop = {{ max_rounds = 1 }}
seats = [{{ name = "reviewer", agent = "{agent}" }}]
"""


@dataclass
class ScheduleInstallation:
    """One test's settings and processes."""

    folder: Path
    redis_url: str
    broker_url: str | None = None
    #: Further settings.
    chosen: dict[str, Any] = field(default_factory=dict)
    stack: ExitStack = field(default_factory=ExitStack)
    _count: int = 0

    @property
    def settings(self) -> dict[str, Any]:
        broker = {"broker_url": self.broker_url} if self.broker_url else {}
        return {
            **broker,
            "redis_url": self.redis_url,
            "agents_file": self.folder / "agents.toml",
            "data_dir": self.folder,
            "lease_s": 5,
            "redispatch_after_s": 2,
            "sweep_interval_s": 0.2,
            "worker_concurrency": 4,
            "review_roots": {"shop": self.folder / "shop"},
            "jobs": {name: self.folder / f"{name}.yaml" for name in ("say", "gated", "missing")},
            **self.chosen,
        }

    @cached_property
    def client(self) -> Client:
        client = Client(load_settings(**self.settings))
        self.stack.callback(client.close)
        return client

    @property
    def gate(self) -> Path:
        """Lets the sessions of the job `gated` speak once it is there."""
        return self.folder / "gate"

    def write_jobs(self) -> None:
        (self.folder / "agents.toml").write_text(
            REGISTRY + AGENTS.replace("[agents.gated]", "[agents.waits]")
        )
        for name in ("say", "gated"):
            text = JOB.format(agent=name, log=self.folder / "calls.jsonl", gate=self.gate)
            (self.folder / f"{name}.yaml").write_text(text)

    def write_shop(self) -> None:
        """A root with two files, and panels that look at it: one at once, one that waits for the gate."""
        (self.folder / "shop").mkdir()
        for name in ("cart", "till"):
            (self.folder / "shop" / f"{name}.txt").write_text(f"the {name}\n")
        panels = [
            PANEL.format(name=name, agent=agent) for name, agent in (("at_once", "finds"), ("slow", "waits"))
        ]
        (self.folder / "panels.toml").write_text("\n".join(panels))

    def calls(self) -> list[dict[str, Any]]:
        log = self.folder / "calls.jsonl"
        return [json.loads(line) for line in log.read_text().splitlines()] if log.exists() else []

    def start_worker(self, *, wait: bool = True) -> LiveWorker:
        self._count += 1
        env = child_environment(load_settings(**self.settings))
        worker = LiveWorker(f"w{self._count}", self.folder, env, app="symposia.workers", concurrency=4)
        self.stack.callback(worker.close)
        return worker.wait_ready() if wait else worker

    def start_beat(self, **more: str) -> LiveBeat:
        self._count += 1
        env = {**os.environ, **child_environment(load_settings(**self.settings)), **more}
        beat = LiveBeat(f"b{self._count}", self.folder, {**env, "PYTHONPATH": str(SUPPORT)})
        self.stack.callback(beat.close)
        return beat.wait_ready()


@pytest.fixture
def installation(tmp_path: Path, redis_url: str) -> Iterator[ScheduleInstallation]:
    installation = ScheduleInstallation(tmp_path, redis_url)
    installation.write_jobs()
    with installation.stack:
        yield installation

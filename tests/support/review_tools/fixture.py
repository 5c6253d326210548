"""Batch reviews with real workers and a source of texts in memory."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import dataclass, field
from hashlib import sha256
from pathlib import Path
from typing import Any

from live import LiveWorker
from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.reviews.batches.request import ReviewRequest
from symposia.reviews.batches.start import start_batch
from symposia.reviews.job import ReviewJob
from symposia.reviews.values.panels import Panel
from symposia.reviews.values.runs import Item, ItemKind, ReadItem

AGENTS = """
[agents.finds]
kind = "python"
callable = "stub_agents.review:finds"

[agents.gated]
kind = "python"
callable = "stub_agents.review:gated"

[agents.holds]
kind = "python"
callable = "stub_agents.review:holds"

[agents.fails]
kind = "python"
callable = "stub_agents.review:fails"

[agents.spends]
kind = "python"
callable = "stub_agents.review:spends"
"""


def read(path: str, text: str) -> ReadItem:
    digest = sha256(text.encode()).hexdigest()
    item = Item(key=path, kind=ItemKind.FILE, path=path, sha256=digest, size=len(text.encode()))
    return ReadItem(item=item, text=text)


def panel(*agents: str, **more: Any) -> Panel:
    """Build a round-robin panel without a judge, with one seat per agent."""
    seats = [{"name": agent, "agent": agent} for agent in agents]
    fields = {"name": "test", "mode": "round_robin", "purpose": "Review it.", "seats": seats}
    policy = {"attempts": 1, "backoff_s": 0, "then": "skip"}
    return Panel.model_validate({**fields, "stop": {"max_rounds": 1}, "policy": policy, **more})


@dataclass
class ReviewInstallation:
    """One test's workers and client."""

    folder: Path
    redis_url: str
    archive: bool = False
    lease_s: float = 5.0
    workers: list[LiveWorker] = field(default_factory=list)
    _client: Client | None = None

    @property
    def settings(self) -> dict[str, Any]:
        return {
            "redis_url": self.redis_url,
            "agents_file": self.folder / "agents.toml",
            "data_dir": self.folder,
            "lease_s": self.lease_s,
            "redispatch_after_s": 2,
            "sweep_interval_s": 0.2,
            "archive": self.archive,
        }

    @property
    def client(self) -> Client:
        if self._client is None:
            self._client = Client(load_settings(**self.settings))
        return self._client

    def start_worker(self, *, concurrency: int = 4) -> LiveWorker:
        env = {f"SYMPOSIA_{name.upper()}": str(value) for name, value in self.settings.items()}
        worker = LiveWorker(
            f"w{len(self.workers) + 1}", self.folder, env, app="symposia.workers", concurrency=concurrency
        )
        self.workers.append(worker)
        return worker.wait_ready()

    def review(self, panel: Panel, reads: Iterable[ReadItem], **order: Any) -> ReviewJob:
        asked = ReviewRequest(root_name="test", panel=panel, source=list(reads), **order)
        return ReviewJob(
            start_batch(self.client._installation.reviews, asked), self.client._installation.reviews
        )

    def calls(self) -> list[str]:
        """What the agents of the tests were called with, one line a call."""
        log = self.folder / "calls.txt"
        return log.read_text().splitlines() if log.exists() else []

    def close(self) -> None:
        for worker in self.workers:
            worker.close()

"""The agents file of docs/celery.md."""

from __future__ import annotations

from pathlib import Path

from documents.files import write_files
from documents.pages import Page
from symposia.agents.registry.registry import Registry

PAGE = Page("docs/celery.md")
QUEUE = PAGE.take("toml", "[agents.painter]")


def test_agent_has_the_queue(tmp_path: Path) -> None:
    write_files(tmp_path, {"agents.toml": QUEUE})
    assert Registry.load(tmp_path / "agents.toml").queues() == {"painter": "gpu"}

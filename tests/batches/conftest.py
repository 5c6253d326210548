"""A desk for each test: a real server, and the agents of the tests."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from review_rooms import AGENTS, Desk


@pytest.fixture
def desk(tmp_path: Path, redis_url: str) -> Iterator[Desk]:
    (tmp_path / "agents.toml").write_text(AGENTS)
    desk = Desk(tmp_path, redis_url)
    yield desk
    desk.close()

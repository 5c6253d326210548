"""An office without a broker, whose agents file names sessions."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checks import ledger
from sessions.inline_runtime import InlineRuntime
from sessions.panels import AGENTS, COUNTING, PANEL
from symposia.state.redis.connect import connect


@pytest.fixture
def make_office(tmp_path: Path, redis_url: str) -> Iterator[Callable[..., InlineRuntime]]:
    """Makes offices; when the test is over, all sessions are audited from their raw keys."""
    made: list[InlineRuntime] = []

    def make(registry: str = AGENTS, **settings: Any) -> InlineRuntime:
        (tmp_path / "panel.yaml").write_text(PANEL)
        (tmp_path / "counting.yaml").write_text(COUNTING)
        made.append(InlineRuntime(tmp_path, redis_url, registry, **settings))
        return made[-1]

    yield make
    for it in made:
        it.close()
    with connect(redis_url) as client:
        for session_id in ledger.session_ids(client):
            ledger.check(client, session_id)


@pytest.fixture
def office(make_office: Callable[..., InlineRuntime]) -> InlineRuntime:
    """An office with a panel."""
    return make_office()

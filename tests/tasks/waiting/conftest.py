"""An office without a broker, for sessions with people in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checks import ledger
from sessions.inline_runtime import InlineRuntime
from symposia.state.redis.connect import connect


@pytest.fixture
def make_office(tmp_path: Path, redis_url: str) -> Iterator[Callable[..., InlineRuntime]]:
    """Makes offices; when the test is over, all sessions are audited from their raw keys."""
    made: list[InlineRuntime] = []

    def make(registry: str = "", **settings: Any) -> InlineRuntime:
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
    """An office with the built-in agents."""
    return make_office()

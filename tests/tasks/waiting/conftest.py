"""An installation without a broker, for sessions with people in them."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from pathlib import Path
from typing import Any

import pytest

from checks import ledger
from sessions.inline_installation import InlineInstallation
from symposia.state.redis.connect import connect


@pytest.fixture
def make_installation(tmp_path: Path, redis_url: str) -> Iterator[Callable[..., InlineInstallation]]:
    """Makes installations; when the test is over, all sessions are audited from their raw keys."""
    made: list[InlineInstallation] = []

    def make(registry: str = "", **settings: Any) -> InlineInstallation:
        made.append(InlineInstallation(tmp_path, redis_url, registry, **settings))
        return made[-1]

    yield make
    for it in made:
        it.close()
    with connect(redis_url) as client:
        for session_id in ledger.session_ids(client):
            ledger.check(client, session_id)


@pytest.fixture
def installation(make_installation: Callable[..., InlineInstallation]) -> InlineInstallation:
    """An installation with the built-in agents."""
    return make_installation()

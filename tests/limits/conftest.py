"""A runtime with agents of a configured cost."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from typing import Any

import pytest

from checks import ledger
from sessions.inline_installation import InlineInstallation
from symposia.state.redis.connect import connect

REGISTRY = """
[agents.spender]
kind = "python"
callable = "stub_agents.spending:spender"

[agents.asker]
kind = "python"
callable = "stub_agents.spending:asker"
"""


@pytest.fixture
def installation(tmp_path, redis_url) -> Iterator[InlineInstallation]:
    """One worker; when the test is over, all sessions are audited from their raw keys."""
    installation = InlineInstallation(tmp_path, redis_url, REGISTRY)
    yield installation
    installation.close()
    with connect(redis_url) as client:
        for session_id in ledger.session_ids(client):
            ledger.check(client, session_id)


@pytest.fixture
def costing() -> Callable[..., dict[str, Any]]:
    """The binding of a scripted agent whose every turn spends so much."""

    def bind(tokens: int = 0, *, cost_micros: int = 0) -> dict[str, Any]:
        usage = {"output_tokens": tokens, "cost_micros": cost_micros, "requests": 1}
        return {"agent": "noop", "parameters": {"replies": [{"say": "ok", "usage": usage}]}}

    return bind

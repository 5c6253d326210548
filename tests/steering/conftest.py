"""A runtime whose agents print their name, their messages and their instructions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from checks import ledger
from sessions.inline_runtime import InlineRuntime
from symposia.state.redis.connect import connect

REGISTRY = """
[agents.parrot]
kind = "scripted"
replies = ["{me} after {last}"]

[agents.gated]
kind = "python"
callable = "stub_agents.live:gated"
"""


@pytest.fixture
def office(tmp_path, redis_url) -> Iterator[InlineRuntime]:
    """One worker; when the test is over, all sessions are audited from their raw keys."""
    office = InlineRuntime(tmp_path, redis_url, REGISTRY)
    yield office
    office.close()
    with connect(redis_url) as client:
        for session_id in ledger.session_ids(client):
            ledger.check(client, session_id)

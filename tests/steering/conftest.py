"""A runtime whose agents print their name, their messages and their instructions."""

from __future__ import annotations

from collections.abc import Iterator

import pytest

from checks import ledger
from sessions.inline_installation import InlineInstallation
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
def installation(tmp_path, redis_url) -> Iterator[InlineInstallation]:
    """One worker; when the test is over, all sessions are audited from their raw keys."""
    installation = InlineInstallation(tmp_path, redis_url, REGISTRY)
    yield installation
    installation.close()
    with connect(redis_url) as client:
        for session_id in ledger.session_ids(client):
            ledger.check(client, session_id)

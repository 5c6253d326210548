"""Cancellation of batches whose provider does not answer."""

from __future__ import annotations

import asyncio
import json
from types import SimpleNamespace
from typing import Any

import pytest

from symposia.agents.execution.runner import AgentRunner
from symposia.models.text.ids import new_id
from symposia.state.redis.connect import connect
from symposia.state.turns.batch_members import BatchMembers
from symposia.tasks.waiting import model_batches


class Silent:
    """An agent whose provider does not answer."""

    def __init__(self) -> None:
        self.calls = 0

    async def has_batch_ended(self, _handle: str) -> bool:
        raise AssertionError

    async def cancel_batch(self, _handle: str) -> None:
        self.calls += 1
        await asyncio.sleep(600)


@pytest.mark.parametrize(("pause_s", "calls"), [(60.0, 1), (0.0, 3)])
def test_silent_provider_is_not_asked_again_at_once(
    redis_url: str, monkeypatch: pytest.MonkeyPatch, pause_s: float, calls: int
) -> None:
    monkeypatch.setattr(model_batches, "REQUEST_TIMEOUT_S", 0.05)
    monkeypatch.setattr(model_batches, "PAUSE_S", pause_s)
    monkeypatch.setattr(model_batches, "_pauses", {})
    agent, runner = Silent(), AgentRunner()
    agents = SimpleNamespace(registry=SimpleNamespace(get_agent=lambda _binding: agent), runner=runner)
    binding = SimpleNamespace(with_agent=lambda _agent: SimpleNamespace(agent="ada"))
    record: Any = SimpleNamespace(participant="p", agent="ada", number=1)
    try:
        with connect(redis_url) as client:
            runtime: Any = SimpleNamespace(agents=agents, store=SimpleNamespace(client=client))
            for name in ("one", "two", "three"):
                facts: Any = SimpleNamespace(session_id=new_id(), spec=SimpleNamespace(agents={"p": binding}))
                BatchMembers(client).add(name, facts.session_id, 1)
                handle = json.dumps({"entry": "m", "batch": {"id": name}})
                for _ in range(2):  # only the first call has the turn to leave
                    model_batches.leave_batch(runtime, facts, record, handle)
    finally:
        runner.close()
    assert agent.calls == calls

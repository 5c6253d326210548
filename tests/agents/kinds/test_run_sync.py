"""Functions that call `run_sync` of pydantic-ai work for many turns, in threads that have no event loop."""

from __future__ import annotations

import asyncio

import pytest

from live import until
from scaling import patient
from stub_agents import model_agent
from symposia import LocalClient, MaxTurns

TURNS = 12
WIDTH = 4

loops: set[asyncio.AbstractEventLoop] = set()


def ask(turn: object) -> str:
    answer = model_agent.ask(turn)
    loops.add(asyncio.get_event_loop())
    return answer


@pytest.mark.parametrize("mode", ["round_robin", "broadcast"])
def test_run_sync_works_in_many_turns(mode):
    names = [f"a{number}" for number in range(WIDTH)]
    collab = {"title": "t", "purpose": "p", "mode": mode}
    collab["participants"] = [{"participant_id": name, "role_id": name} for name in names]
    with LocalClient({"ann": ask}, threads=WIDTH) as client:
        jobs = [
            client.submit(collab, agents=dict.fromkeys(names, "ann"), stop=MaxTurns(TURNS)) for _ in range(3)
        ]
        for job in jobs:
            assert job.result(timeout=patient(60)).raise_for_failure()
            texts = [message.content for message in job.messages()]
            assert texts
            assert set(texts) == {"Hello"}
    until(
        lambda: loops and all(loop.is_closed() for loop in loops), what="the loops of the threads are closed"
    )

"""Agents that raise, hang, return 50 MB, close stdout, fork or exit affect only their own turns."""

from __future__ import annotations

from random import Random

import pytest

from chaos.arena import Arena
from chaos.machinery.wire import Wire
from chaos.plays import modelled, moody, plays
from chaos.worker.agents import MOODS
from live import until
from servers.model_stub import StubModel
from servers.ports import own_port

pytestmark = [pytest.mark.xdist_group("faults-of-workers"), pytest.mark.timeout(180), pytest.mark.long]


def test_misbehaving_agent_costs_only_its_turn(arena):
    arena.crew.wait_ready()
    lives = [member.lives for member in arena.crew.members]
    random = Random(1)
    sessions = [moody(random, mood=mood) for mood in MOODS] + plays(random, 6)
    outcome = arena.run(sessions)
    assert not outcome.findings
    assert [member.lives for member in arena.crew.members] == lives, "no worker died of it"


def test_model_outage_costs_retries_and_no_turn(tmp_path):
    registry = (
        '[models.stub]\nmodel = "stub-model"\nbase_url = "{}"\n[agents.model]\nkind = "llm"\nmodel = "stub"\n'
    )
    with StubModel() as model:
        endpoint = Wire(int(model.url.rpartition(":")[2].partition("/")[0]))
        address = endpoint.url.replace("redis://", "http://").replace("/0", "/v1")
        with Arena(tmp_path, registry=registry.format(address)) as arena:
            arena.with_workers(1)
            there, endpoint.upstream = endpoint.upstream, own_port()

            def comes_back(_arena, _random):
                until(lambda: endpoint.refused >= 3, timeout_s=40, what="the model is asked in vain")
                endpoint.upstream = there

            outcome = arena.run([modelled(Random(2), attempts=100)], [comes_back])
        endpoint.close()
    (evidence,) = outcome.evidence.values()
    assert [entry.says["content"] for entry in evidence.dialog] == ["Well said."] * 4
    assert not outcome.findings

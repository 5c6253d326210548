"""Models without a price are known before a session with a cost budget runs."""

from __future__ import annotations

import pytest

from symposia.agents.registry.registry import Registry
from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.models.sessions.stop_conditions import CostBudget, MaxTurns
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect

MODELS = """
[models.mine]
model = "test-model"
base_url = "http://127.0.0.1:9/v1"
[models.free]
model = "test-model"
base_url = "http://127.0.0.1:9/v1"
input_usd_per_million = 0
output_usd_per_million = 0
[models.listed]
model = "gpt-4o"
base_url = "http://127.0.0.1:9/v1"
[agents.mine]
kind = "llm"
model = "mine"
[agents.fallback]
kind = "llm"
model = "listed"
fallback = ["mine"]
[agents.free]
kind = "llm"
model = "free"
[agents.listed]
kind = "llm"
model = "listed"
"""


@pytest.fixture
def registry(tmp_path):
    (tmp_path / "agents.toml").write_text(MODELS)
    return Registry.load(tmp_path / "agents.toml")


def test_models_without_a_price_are_known(registry):
    assert registry.known().unpriced == {"mine", "fallback"}


@pytest.mark.parametrize(
    ("agent", "stop", "warned"),
    [
        ("mine", CostBudget(0.1) | MaxTurns(6), True),
        ("mine", MaxTurns(6), False),
        ("listed", CostBudget(0.1), False),
    ],
)
def test_cost_budget_without_a_price_is_reported_at_submit(
    registry, redis_url, tmp_path, caplog, agent, stop, warned
):
    client = Client(load_settings(redis_url=redis_url, broker_url=redis_url, data_dir=tmp_path))
    with connect(redis_url) as redis:
        WorkerPresence(redis).announce("w", registry.known())
    people = [{"participant_id": "ada"}]
    collab = {"title": "t", "purpose": "p", "mode": "round_robin", "participants": people}
    client.submit(collab, agents={"ada": agent}, stop=stop).cancel()
    assert ("the cost budget does not count the turns of ada" in caplog.text) is warned

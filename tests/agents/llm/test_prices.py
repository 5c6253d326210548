"""Models without a price are known before a session with a cost budget runs."""

from __future__ import annotations

import pytest
from pydantic_ai.messages import ModelResponse
from pydantic_ai.usage import RequestUsage

from scaling import patient
from symposia.agents.llm.settings import Price, usage_of
from symposia.agents.registry.registry import Registry
from symposia.agents.tables import ModelEntry
from symposia.cli.doctor.machine_checks import check_agents
from symposia.client import Client
from symposia.config.settings import load_settings
from symposia.models.errors import AgentFailed, InvalidInput
from symposia.models.sessions.options import AgentBinding
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
[models.priced]
model = "test-model"
base_url = "http://127.0.0.1:9/v1"
price = {input = 1, output = 2}
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
[agents.priced]
kind = "llm"
model = "priced"
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


COST = CostBudget(0.1) | MaxTurns(6)


@pytest.mark.parametrize(
    ("agent", "stop", "limits", "is_refused"),
    [
        ("mine", COST, {}, True),
        ("fallback", COST, {}, True),
        ("mine", MaxTurns(6), {"turn_usd": 0.1}, True),
        ("mine", MaxTurns(6), {}, False),
        ("listed", COST, {}, False),
        ("free", COST, {}, False),
        ("priced", COST, {}, False),
    ],
)
def test_cost_budget_without_a_price_is_refused_at_submit(
    registry, redis_url, tmp_path, agent, stop, limits, is_refused
):
    client = Client(load_settings(redis_url=redis_url, broker_url=redis_url, data_dir=tmp_path))
    with connect(redis_url) as redis:
        WorkerPresence(redis).announce("w", registry.known())
    people = [{"participant_id": "ada"}]
    collab = {"title": "t", "purpose": "p", "mode": "round_robin", "participants": people}

    def submit():
        client.submit(collab, agents={"ada": agent}, stop=stop, limits=limits).cancel()

    if not is_refused:
        submit()
        return
    with pytest.raises(InvalidInput, match=r"agents\.ada\.agent: must have a price .* `price = \{input"):
        submit()


@pytest.mark.real_models
@pytest.mark.parametrize(("agent", "fails"), [("mine", True), ("priced", False), ("listed", False)])
def test_worker_refuses_a_model_without_a_price(runner, turn, model, tmp_path, agent, fails):
    (tmp_path / "agents.toml").write_text(MODELS.replace("http://127.0.0.1:9/v1", model.url))
    created = Registry.load(tmp_path / "agents.toml").get_agent(AgentBinding(agent=agent))
    context = turn(timeout_s=patient(20), remaining={"cost_micros": 1_000})
    answer = runner.start(created, context, timeout_s=patient(20))
    if not fails:
        assert answer.result().usage.requests == 1
        return
    with pytest.raises(AgentFailed, match="model 'mine' has no price: add `price") as failed:
        answer.result()
    assert (failed.value.retryable, model.asked) == (False, [])


@pytest.mark.parametrize(
    ("price", "usage", "micros"),
    [
        (Price(1.0, 2.0), {}, 100 + 40),
        (Price(1.0, 2.0), {"cache_read_tokens": 50}, 100 + 40),
        (Price(1.0, 2.0, cached=0.1), {"cache_read_tokens": 50}, 50 + 5 + 40),
        (
            Price(1.0, 2.0, cached=0.1, cache_write=1.25),
            {"cache_read_tokens": 50, "cache_write_tokens": 20},
            30 + 5 + 25 + 40,
        ),
        (Price(1.0, 2.0, reasoning=4.0), {"details": {"reasoning_tokens": 5}}, 100 + 30 + 20),
    ],
)
def test_each_kind_of_token_has_its_price(price, usage, micros):
    reported = RequestUsage(input_tokens=100, output_tokens=20, **usage)
    assert usage_of(ModelResponse(parts=[], usage=reported), price).cost_micros == micros


@pytest.mark.parametrize(
    ("entry", "shown"),
    [
        ({"model": "openai:gpt-4o"}, "input 2.5, output 10, cached 1.25"),
        ({"model": "openai-chat:gpt-4o", "base_url": "http://x/v1"}, "input 2.5, output 10, cached 1.25"),
        ({"model": "gpt-4o", "base_url": "http://x/v1"}, "input 2.5, output 10, cached 1.25"),
        ({"model": "openai:gpt-4o", "price": {"input": 3, "output": 4}}, "input 3, output 4"),
        ({"model": "openai:gpt-4o", "input_usd_per_million": 0}, "input 0, output 0"),
        ({"model": "mine:8b", "base_url": "http://x/v1"}, None),
    ],
)
def test_prices_in_use_are_described(entry, shown):
    unit = " (US dollars per million tokens)"
    assert ModelEntry.model_validate(entry).describe_price() == (shown and shown + unit)


def test_two_kinds_of_prices_are_refused():
    with pytest.raises(ValueError, match="not both"):
        ModelEntry.model_validate(
            {"model": "a:b", "price": {"input": 1, "output": 1}, "input_usd_per_million": 1}
        )


def test_doctor_lists_the_prices(tmp_path):
    (tmp_path / "agents.toml").write_text(MODELS)
    settings = load_settings(agents_file=tmp_path / "agents.toml", data_dir=tmp_path)
    lines = [check.text for check in check_agents(settings) if check.subject == "prices"]
    assert lines == [
        "free (test-model): input 0, output 0 (US dollars per million tokens)",
        "listed (gpt-4o): input 2.5, output 10, cached 1.25 (US dollars per million tokens)",
        "local (smollm2-135m-instruct): free",
        "mine (test-model): no price",
        "priced (test-model): input 1, output 2 (US dollars per million tokens)",
    ]

"""The maximum cost of a turn according to the registry."""

from __future__ import annotations

import pytest

from symposia.agents.registry.agents_file import AgentsFile
from symposia.agents.registry.registry import Registry
from symposia.models.sessions.limits import SpendingBounds
from symposia.models.sessions.options import AgentBinding

MODELS = {
    "house": {
        "model": "m",
        "base_url": "http://127.0.0.1:1/v1",
        "context_tokens": 1_000,
        "input_usd_per_million": 2.0,
        "output_usd_per_million": 10.0,
    },
    "free": {"model": "n", "base_url": "http://127.0.0.1:1/v1", "context_tokens": 4_000},
}


def most(entry, *, models=MODELS, **binding):
    file = {"models": models, "tools": {"t": {"callable": "a:b"}}, "agents": {"it": entry}}
    registry = Registry(AgentsFile.model_validate(file))
    return registry.spending_bound(AgentBinding(agent="it", **binding))


def test_bounded_model_costs_a_full_window_and_answer():
    spent = most({"kind": "llm", "model": "house", "max_tokens": 100})
    assert spent == SpendingBounds(tokens=1_600, cost_micros=1_500 * 2 + 100 * 10)


def test_binding_overrides_the_registry():
    assert most({"kind": "llm", "model": "house", "max_tokens": 100}, max_tokens=10).tokens == 1_510
    assert most({"kind": "llm", "model": "house", "max_tokens": 1}, instructions="x" * 400).tokens == 1_601


def test_most_expensive_of_several_models_counts():
    spent = most({"kind": "llm", "model": "house", "fallback": ["free"], "max_tokens": 100})
    assert spent == SpendingBounds(tokens=4_600, cost_micros=None), "what nobody prices is unknown"


@pytest.mark.parametrize("more", [{}, {"max_tokens": 10, "tools": ["t"]}])
def test_unbounded_model_may_spend_anything(more):
    assert most({"kind": "llm", "model": "house", **more}) == SpendingBounds()


def test_python_is_unbounded_and_programs_cost_nothing():
    nothing = SpendingBounds(tokens=0, cost_micros=0)
    assert most({"kind": "python", "callable": "a:b"}) == SpendingBounds()
    assert most({"kind": "human"}) == nothing
    assert most({"kind": "command", "argv": ["true"]}) == nothing


def test_person_with_a_stand_in_has_its_cost_bound():
    script = {"kind": "scripted", "replies": [{"say": "a", "usage": {"output_tokens": 5}}]}
    human = {"kind": "human", "then": "reassign", "to": "stand-in"}
    file = AgentsFile.model_validate({"agents": {"it": human, "stand-in": script}})
    assert Registry(file).spending_bound(AgentBinding(agent="it")).tokens == 5
    wait = {"then": "reassign", "to": "nobody"}
    assert Registry(file).spending_bound(AgentBinding(agent="it", wait=wait)) == SpendingBounds()


def test_script_cost_bound_is_its_most_expensive_reply():
    replies = [
        {"say": "a", "usage": {"output_tokens": 5, "cost_micros": 9}},
        {"say": "b", "usage": {"input_tokens": 7}},
    ]
    assert most({"kind": "scripted", "replies": replies}) == SpendingBounds(tokens=7, cost_micros=9)


def test_cost_of_an_unknown_agent_is_unknown():
    assert Registry().spending_bound(AgentBinding(agent="who")) == SpendingBounds()

"""Tool uses in a session: stored with the message of their turn, given to later turns of the same agent only."""

from __future__ import annotations

import pytest

from servers.model_stub import StubModel, completion
from stub_agents import seen_tool_uses
from symposia.models.turns.tool_uses import tool_uses_of

pytestmark = pytest.mark.real_models

REGISTRY = """
[models.stub]
model = "stub"
base_url = "{url}"

[tools]
add = {{callable = "stub_agents.tools:add"}}

[agents.ada]
kind = "llm"
model = "stub"
tools = ["add"]

[agents.ben]
kind = "python"
callable = "stub_agents.seen_tool_uses:look"
"""


def test_tool_uses_are_stored_and_hidden_from_others(make_installation):
    seen_tool_uses.seen.clear()
    with StubModel() as model:
        installation = make_installation(REGISTRY.format(url=model.url))
        model.answers(completion(tool=("add", {"a": 2, "b": 3})), completion("It is 5."))
        job = installation.submit("round_robin", {"ada": "ada", "ben": "ben"}, stop={"max_turns": 2})
        installation.work()
    [answer, _] = job.messages()
    assert [(use.name, use.result) for use in tool_uses_of(answer)] == [("add", "5")]
    assert seen_tool_uses.seen == [[()]]

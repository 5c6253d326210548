"""Tools for tests of your own agents and sessions, without network, waiting or costs.

    from symposia.testing import ScriptedModel, model_agent, speak, turn

    def test_my_instructions_ask_for_haiku():
        model = ScriptedModel("old pond / frog leaps in / splash")
        outcome = speak(model_agent(model, instructions="You write haiku."), turn())
        assert outcome.messages[0].content.startswith("old pond")
        assert "haiku" in model.asked[0].system

pydantic-ai's own test models can be used instead of `ScriptedModel`. `AgentConformance` in
`symposia.testing.conformance` tests the rules for all agents. The pytest plugin
`symposia.testing.plugin` forbids requests to real models in tests without the mark `real_models`. The fixture
`symposia` (`symposia.testing.fixtures`) runs the sessions of code under test in the process of the test.
"""

from __future__ import annotations

from typing import TYPE_CHECKING, Any

if TYPE_CHECKING:
    from .agents import Asked, Call, ScriptedModel, model_agent, speak, turn

__all__ = ["Asked", "Call", "ScriptedModel", "model_agent", "speak", "turn"]


def __getattr__(name: str) -> Any:
    # The pytest plugin is in this package: a test run that uses nothing else imports no model client.
    if name not in __all__:
        raise AttributeError(f"module {__name__!r} has no attribute {name!r}")
    from ..models.extras import check_installed

    check_installed("pydantic_ai", f"symposia.testing.{name}")
    from . import agents

    return getattr(agents, name)

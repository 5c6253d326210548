"""Tools for testing your own agents and sessions: no network, no waiting, no bill.

    from symposia.testing import ScriptedModel, model_agent, speak, turn

    def test_my_instructions_ask_for_haiku():
        model = ScriptedModel("old pond / frog leaps in / splash")
        outcome = speak(model_agent(model, instructions="You write haiku."), turn())
        assert outcome.messages[0].content.startswith("old pond")
        assert "haiku" in model.asked[0].system

Any of pydantic-ai's own test models goes in place of `ScriptedModel`. What every agent must do,
of any kind, is `AgentConformance` in `symposia.testing.conformance`; the pytest plugin
`symposia.testing.plugin` lets no test ask a real model that is not marked for it.
"""

from .models import Asked, Call, ScriptedModel
from .turns import model_agent, speak, turn

__all__ = ["Asked", "Call", "ScriptedModel", "model_agent", "speak", "turn"]

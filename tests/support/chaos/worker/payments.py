"""A tool that needs an approval, and notes each of its calls."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

from pydantic_ai import RunContext

from chaos.people import UNWANTED
from servers.model_stub import Answer, StubModel, completion
from symposia.agents.llm.tools import ToolContext

REGISTRY = """
[models.stub]
model = "stub"
base_url = "{url}"

[tools.pay]
callable = "chaos.worker.payments:pay"
approval = true

[agents.payer]
kind = "llm"
model = "stub"
tools = ["pay"]
"""


def pay(ctx: RunContext[ToolContext], note: str) -> str:
    """Pays, and writes it down."""
    turn = ctx.deps.turn
    line = {
        "session": turn.session_id,
        "turn": turn.turn_number,
        "effect": ctx.deps.effect_id,
        "note": note,
    }
    with Path(f"{turn.parameters['log']}.payments").open("a") as file:
        file.write(json.dumps(line) + "\n")
    return f"paid: {note}"


class PayingModel(StubModel):
    """Calls the tool twice in each turn, the second time with what people refuse; then says what came of it."""

    def next_answer(self, body: dict[str, Any]) -> Answer:
        """Return the next call by the results in the request, whichever session asks."""
        roles = [it["role"] for it in body["messages"]]
        begin = len(roles) - roles[::-1].index("user")  # earlier calls are those of earlier turns
        results = [it["content"] for it in body["messages"][begin:] if it["role"] == "tool"]
        notes = ("tea", UNWANTED)
        if len(results) < len(notes):
            return completion(tool=("pay", {"note": notes[len(results)]}), call=f"call-{len(results)}")
        return completion(", ".join(results))

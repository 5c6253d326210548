"""A Python agent that asks pydantic-ai's test model with `run_sync`; the model calls a tool first."""

from __future__ import annotations

from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

model_agent = Agent(TestModel(custom_output_text="Hello"))


@model_agent.tool_plain
def count() -> int:
    return 1


def ask(_turn: object) -> str:
    return model_agent.run_sync("Say hello").output

"""Answers of pydantic-ai agents that are given as objects. Those of other libraries: test_framework_agents.py."""

from __future__ import annotations

import asyncio
from dataclasses import dataclass

import pytest
from pydantic import BaseModel
from pydantic_ai import Agent
from pydantic_ai.models.test import TestModel

from symposia.agents.execution.threads import DaemonThreadPool
from symposia.agents.kinds.object import object_entry


class Page(BaseModel):
    content: str
    output: int


@dataclass
class Door:
    colour: str


class OwnAgent(Agent):
    """A class of the user's own module."""


def speak(agent, turn):
    entry = object_entry("ann", agent, threads=DaemonThreadPool(limit=1))
    return asyncio.run(entry.agent.speak(turn()))


@pytest.mark.parametrize(
    ("output_type", "arguments", "data"),
    [
        (Page, {"content": "a page", "output": 3}, {"content": "a page", "output": 3}),
        (Door, {"colour": "red"}, {"colour": "red"}),
    ],
)
def test_output_type_is_data(turn, output_type, arguments, data):
    agent = Agent(TestModel(custom_output_args=arguments), output_type=output_type)
    output = speak(agent, turn).output
    assert (output.model_dump() if isinstance(output, BaseModel) else output) == data


def test_number_is_text(turn):
    agent = Agent(TestModel(custom_output_args=42), output_type=int)
    assert speak(agent, turn).messages[0].content == "42"


def test_own_class_of_an_agent_is_recognised(turn):
    outcome = speak(OwnAgent(TestModel(custom_output_text="A door.")), turn)
    assert (outcome.messages[0].content, outcome.usage.requests) == ("A door.", 1)

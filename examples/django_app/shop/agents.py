"""Agents of the project. They may use its models: old database connections are closed around each turn."""

from symposia import TurnContext


def write(turn: TurnContext) -> str:
    """Write a first offer."""
    return f"We offer {turn.purpose}."

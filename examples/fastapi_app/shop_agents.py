"""Agents of the application."""

from symposia import TurnContext


def write(turn: TurnContext) -> str:
    """Write a first offer."""
    return f"We offer {turn.purpose}."

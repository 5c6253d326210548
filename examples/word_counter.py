"""A Python agent that counts the words of the dialog, and a tool that models can call.

Workers import this module by name (see agents.toml), so its folder must be on PYTHONPATH.
"""

from __future__ import annotations

from symposia import TurnContext


def count_words(text: str) -> int:
    """Count the words of a text."""
    return len(text.split())


def speak(turn: TurnContext) -> str:
    words = sum(count_words(message.content) for message in turn.messages)
    return f"{words} words so far."

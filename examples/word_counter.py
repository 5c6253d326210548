"""An agent in Python: says how many words were said so far. And a tool that models may call.

Workers import it by name (see agents.toml), so its folder must be on PYTHONPATH.
"""

from __future__ import annotations

from symposia import TurnContext


def count_words(text: str) -> int:
    """Counts the words of a text."""
    return len(text.split())


def speak(turn: TurnContext) -> str:
    words = sum(count_words(message.content) for message in turn.messages)
    return f"{words} words so far."

"""An agent in Python: says how many words were said so far.

Workers import it by name (see agents.toml), so its folder must be on PYTHONPATH.
"""

from __future__ import annotations

from symposia import TurnContext


def speak(turn: TurnContext) -> str:
    words = sum(len(message.content.split()) for message in turn.messages)
    return f"{words} words so far."

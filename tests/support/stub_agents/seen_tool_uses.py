"""An agent that keeps the tool uses which it is given."""

from __future__ import annotations

from symposia.models.turns.tool_uses import ToolUse, tool_uses_of
from symposia.models.turns.turn import TurnContext

#: For each turn of this process, the tool uses of its messages.
seen: list[list[tuple[ToolUse, ...]]] = []


def look(turn: TurnContext) -> str:
    """Say nothing of interest."""
    seen.append([tool_uses_of(message) for message in turn.messages])
    return "Seen."

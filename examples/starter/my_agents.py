"""Agents in Python: `agents.toml` names this module, and workers import it."""

import symposia


@symposia.agent("writer")
def writer(turn: symposia.TurnContext) -> str:
    """Write a notice, then follow the last message of the dialog."""
    if not turn.messages:
        return turn.purpose
    return f"{turn.purpose} ({turn.messages[-1].content})"

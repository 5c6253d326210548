"""An agent whose provider asks for patience."""

from __future__ import annotations

import json
import time
from pathlib import Path

from symposia.models.errors import AgentFailed
from symposia.models.turns.turn import TurnContext

#: Seconds it is to be left alone.
PATIENCE_S = 2.5


def speak(turn: TurnContext) -> str:
    """Fails the first attempt; writes down when it was asked."""
    with Path("asked.jsonl").open("a") as file:
        file.write(json.dumps(time.time()) + "\n")
    if turn.attempt == 1:
        raise AgentFailed("come back later", retry_after_s=PATIENCE_S)
    return "now"

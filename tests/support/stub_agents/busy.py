"""An agent that keeps the interpreter of its worker to itself."""

from __future__ import annotations

import time
from collections import deque
from itertools import repeat

from stub_agents.live import note
from symposia.models.turns.turn import TurnContext


def hog(turn: TurnContext) -> str:
    """Runs for some ten seconds without letting another thread run."""
    note(turn)
    began = time.monotonic()
    deque(repeat(None, 10_000_000), maxlen=0)
    deque(repeat(None, int(10 / (time.monotonic() - began) * 10_000_000)), maxlen=0)
    return f"{turn.me.participant_id} speaks in turn {turn.turn_number}"

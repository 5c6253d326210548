"""Agents that tell what they should not."""

from __future__ import annotations

import ctypes
import os

from symposia.models.turns.turn import TurnContext


def telltale(turn: TurnContext) -> str:
    """Fails with every secret it finds in its environment."""
    secrets = [os.environ[name] for name in ("SYMPOSIA_REDIS_URL", "HOUSE_API_KEY", "UPSTREAM_TOKEN")]
    raise RuntimeError(f"no luck with {' and '.join(secrets)} in turn {turn.turn_number}")


def dumpable(_turn: TurnContext) -> str:
    """Whether other processes of the user may read this one."""
    return str(ctypes.CDLL(None).prctl(3))

"""Agents that tell what they should not."""

from __future__ import annotations

import os

from symposia.models.turns.turn import TurnContext


def telltale(turn: TurnContext) -> str:
    """Fails with every secret it finds in its environment."""
    secrets = [os.environ[name] for name in ("SYMPOSIA_REDIS_URL", "HOUSE_API_KEY", "UPSTREAM_TOKEN")]
    raise RuntimeError(f"no luck with {' and '.join(secrets)} in turn {turn.turn_number}")

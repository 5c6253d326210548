"""Agents and tools of the tests of traces."""

from __future__ import annotations

import sys

from symposia.models.turns.turn import TurnContext


def look(place: str) -> str:
    """Look at a place."""
    return f"seen: {place}"


#: What only traces need: redis-py imports other parts of OpenTelemetry where they are installed.
TRACES = ("opentelemetry.sdk.trace", "opentelemetry.exporter", "symposia.workers.tracing.provider")


def modules(turn: TurnContext) -> str:
    """Print which modules for traces the process has imported."""
    return f"modules: {[name for name in sys.modules if name.startswith(TRACES)]}"

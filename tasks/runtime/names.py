"""Names of the tasks, for modules that send them without importing them."""

from __future__ import annotations

TURN = "symposia.turn"
ADVANCE = "symposia.advance"

"""How long tests wait, and how many examples property tests try: one factor each, set in the environment."""

from __future__ import annotations

import os

#: Multiplies every deadline of the tests: 3 on a machine that is three times as slow, or as busy.
PATIENCE = float(os.environ.get("SYMPOSIA_TEST_PATIENCE", "1"))
#: Share of the examples that a property test tries. `make test-all` sets 1.
EXAMPLES = float(os.environ.get("SYMPOSIA_TEST_EXAMPLES", "0.25"))
_FEWEST = 5


def patient(seconds: float) -> float:
    """Scale a deadline."""
    return seconds * PATIENCE


def scaled_examples(count: int) -> int:
    """Scale the number of examples of a property test."""
    return max(min(count, _FEWEST), round(count * EXAMPLES))

"""A clock that is an hour ahead, as more for `Arena.member`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: What a member's log says of the time can be compared, also in the night in which clocks are set.
UTC = {"TZ": "UTC"}
#: The folder's `sitecustomize` sets the clock of whichever Python process finds it first.
AHEAD: dict[str, Any] = {
    "environment": {"CHAOS_CLOCK_S": "3600", **UTC},
    "path": (Path(__file__).parent / "skewed",),
}

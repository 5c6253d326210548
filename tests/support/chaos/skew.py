"""A clock that is an hour ahead, as more for `Arena.member`."""

from __future__ import annotations

from pathlib import Path
from typing import Any

#: The folder's `sitecustomize` sets the clock of whichever Python process finds it first.
AHEAD: dict[str, Any] = {
    "environment": {"CHAOS_CLOCK_S": "3600"},
    "path": (Path(__file__).parent / "skewed",),
}

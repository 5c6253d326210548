"""An installation for schedules: workers and beats as real processes."""

from __future__ import annotations

from review_tools.open_pulls import host
from review_tools.schedules import installation

__all__ = ["host", "installation"]

"""A place for schedules: workers and beats as real processes."""

from __future__ import annotations

from schedule_place import place

__all__ = ["place"]

"""Texts of durations on pages. Pure."""

from __future__ import annotations


def duration(ms: float | None) -> str:
    """Return a duration in at most two units, such as `5 min 3 s`; a dash: unknown."""
    if ms is None:
        return "\N{EN DASH}"
    if ms < 1_000:
        return f"{round(ms)} ms"
    if ms < 60_000:
        return f"{ms / 1000:.1f} s"
    minutes, seconds = divmod(int(ms // 1000), 60)
    hours, minutes = divmod(minutes, 60)
    if not hours:
        return f"{minutes} min {seconds} s"
    return f"{hours} h {minutes} min" if hours < 48 else f"{hours // 24} d {hours % 24} h"

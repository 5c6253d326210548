"""Texts of durations on pages. Pure."""

from __future__ import annotations

from ...models.text.words import count_of


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


def sentence_duration(ms: float) -> str:
    """Return a duration in one or two units, such as `12 s`, `2 min 10 s`, `43 min` or `5 h 3 min`."""
    seconds = max(0, int(ms // 1000))
    minutes, hours = seconds // 60, seconds // 3600
    if minutes == 0:
        return f"{seconds} s"
    if hours == 0:
        rest = f" {seconds % 60} s" if seconds % 60 and minutes < 10 else ""
        return f"{minutes} min{rest}"
    if hours < 48:
        return f"{hours} h" + (f" {minutes % 60} min" if minutes % 60 else "")
    return count_of(hours // 24, "day")

"""Schedules and what came of them as tables for people; times on the clocks of each schedule's zone."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from rich.table import Table
from rich.text import Text

from ...models.ids import moment_from_ms
from ...models.schedules.occurrences import Record
from ...reviews.schedules import Entry
from .screen import printable


def shown(entry: Entry, at: datetime | None) -> str:
    """A moment on the clocks of the schedule's zone."""
    if at is None:
        return "paused"
    return f"{at.astimezone(ZoneInfo(entry.schedule.when.zone)):%Y-%m-%d %H:%M:%S %Z}"


def schedule_table(entries: list[Entry]) -> Table:
    """One row a schedule."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("name", "when", "what", "next", "now", "last"):
        table.add_column(title)
    for it in entries:
        now = [f"runs {it.running[:8]}"] if it.running else []
        now += [f"{it.queued} wait"] if it.queued else []
        last = it.last.outcome.value if it.last else ""
        table.add_row(
            *(it.schedule.name, str(it.schedule.when), it.schedule.what, shown(it, it.next_due)),
            *(", ".join(now), last),
        )
    return table


def history_table(entry: Entry, records: list[Record]) -> Table:
    """One row an occurrence."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("due", "outcome", "seconds", "tokens", "usd", "id", "detail"):
        table.add_column(title, justify="right" if title in ("seconds", "tokens", "usd") else "left")
    for it in records:
        due = shown(entry, moment_from_ms(it.due_ms))
        table.add_row(
            *(f"{due} (by hand)" if it.by_hand else due, it.outcome.value, f"{it.duration_s:.1f}"),
            *(f"{it.usage.tokens:,}", f"{it.usage.cost_micros / 1e6:.4f}", it.id[:8]),
            Text(printable(it.detail)),
        )
    return table

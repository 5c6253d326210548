"""Tables of schedules and their runs; times are in the time zone of each schedule."""

from __future__ import annotations

from datetime import datetime
from zoneinfo import ZoneInfo

from rich.table import Table
from rich.text import Text

from ....models.schedules.schedule import ScheduleRunRecord
from ....models.text.ids import moment_from_ms
from ....reviews.schedules.schedules import ScheduleEntry
from ..common.screen import printable


def format_time(entry: ScheduleEntry, at: datetime | None) -> str:
    """Return a moment in the time zone of the schedule; `paused` for None."""
    if at is None:
        return "paused"
    return f"{at.astimezone(ZoneInfo(entry.schedule.when.zone)):%Y-%m-%d %H:%M:%S %Z}"


def schedule_table(entries: list[ScheduleEntry]) -> Table:
    """Return a table of schedules."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("name", "times", "action", "next run", "now", "last outcome"):
        table.add_column(title)
    for it in entries:
        now = [f"running {it.running[:8]}"] if it.running else []
        now += [f"{it.queued} waiting"] if it.queued else []
        last = it.last.outcome.value if it.last else ""
        table.add_row(
            *(it.schedule.name, str(it.schedule.when), it.schedule.description, format_time(it, it.next_due)),
            *(", ".join(now), last),
        )
    return table


def history_table(entry: ScheduleEntry, records: list[ScheduleRunRecord]) -> Table:
    """Return a table of the runs of a schedule."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for title in ("due", "outcome", "seconds", "tokens", "usd", "id", "detail"):
        table.add_column(title, justify="right" if title in ("seconds", "tokens", "usd") else "left")
    for it in records:
        due = format_time(entry, moment_from_ms(it.due_ms))
        table.add_row(
            *(f"{due} (run-now)" if it.by_hand else due, it.outcome.value, f"{it.duration_s:.1f}"),
            *(f"{it.usage.tokens:,}", f"{it.usage.cost_micros / 1e6:.4f}", it.id[:8]),
            Text(printable(it.detail)),
        )
    return table

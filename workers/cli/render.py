"""Sessions and their ends, as a terminal shows them. Nothing here reads or writes anything."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass

from pydantic import JsonValue
from rich.table import Table
from rich.text import Text

from ...job import JobResult
from ...models.collab import Collab, CollabStatus
from ...models.ids import timestamp_from_ms
from ...models.turn import Usage
from ...state.records import SessionState
from .find import shortest_ids
from .screen import printable
from .times import relative_age

STATUS_STYLE = {
    CollabStatus.ACTIVE: "cyan",
    CollabStatus.SUSPENDED: "yellow",
    CollabStatus.COMPLETED: "green",
    CollabStatus.CANCELLED: "red",
}


def heading(collab: Collab) -> Text:
    """What a session is, on one line."""
    line = Text.assemble(
        (printable(collab.title), "bold"), f"  {collab.mode.value}  ", (collab.collab_id, "dim")
    )
    line.no_wrap, line.overflow = True, "ellipsis"
    return line


def seconds_of(result: JobResult) -> float:
    """How long the session took, from being opened to its end."""
    began, ended = result.dialog.started_at, result.dialog.ended_at
    return (ended - began).total_seconds() if began and ended else 0.0


def turns_a_second(result: JobResult) -> float:
    """Turns per second, 0 where no time has passed."""
    seconds = seconds_of(result)
    return result.turns / seconds if seconds else 0.0


def outcome(status: CollabStatus, reason: str | None, detail: str | None = None) -> str:
    """A status and why: `cancelled: failed (ann: no answer)`; the word once where both are the same."""
    why = "" if reason in (None, "", status.value) else f": {reason}"
    return f"{status.value}{why}" + (f" ({printable(detail)})" if detail else "")


def ending(result: JobResult) -> Text:
    """How a session ended, on one line."""
    mark = ("✓ ", "green") if result.ok else ("✗ ", "red")
    facts = [
        outcome(result.collab.status, result.reason, result.detail),
        f"{result.turns} turns",
        f"{result.usage.tokens} tokens",
        *([f"{result.usage.cost_micros / 1e6:.4f} US dollars"] if result.usage.cost_micros else []),
        f"{seconds_of(result):.2f} s",
    ]
    return Text.assemble(mark, " · ".join(facts))


def usage_json(usage: Usage) -> dict[str, JsonValue]:
    """What was spent, as data."""
    return {**usage.model_dump(mode="json"), "tokens": usage.tokens}


def result_json(result: JobResult) -> dict[str, JsonValue]:
    """How a session ended and all that was said, as data."""
    return {
        "collab": result.collab.to_wire(),
        "dialog": result.dialog.to_wire(),
        "reason": result.reason,
        "detail": result.detail,
        "turns": result.turns,
        "rounds": result.rounds,
        "usage": usage_json(result.usage),
    }


@dataclass(frozen=True, slots=True)
class Listed:
    """A session as a list shows it."""

    collab: Collab
    state: SessionState

    def to_json(self) -> dict[str, JsonValue]:
        """The same as data."""
        state, ended_ms = self.state, self.state.ended_ms
        return {
            "id": self.collab.collab_id,
            "title": self.collab.title,
            "mode": self.collab.mode.value,
            "status": state.status.value,
            "reason": state.reason,
            "turns": state.closed,
            "messages": state.messages,
            "usage": usage_json(state.usage),
            "opened_at": timestamp_from_ms(state.opened_ms),
            "ended_at": None if ended_ms is None else timestamp_from_ms(ended_ms),
        }


def session_table(sessions: Sequence[Listed]) -> Table:
    """Sessions, one a row, each on one line: a narrow terminal cuts the status and the title, never an id."""
    ids = shortest_ids([it.collab.collab_id for it in sessions])
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("id", "opened", "mode", "status", "turns", "tokens", "title"):
        can_shrink = name in ("status", "title")
        table.add_column(
            name, justify="right" if name in ("turns", "tokens") else "left", no_wrap=not can_shrink
        )
    for it in sessions:
        status = it.state.status
        table.add_row(
            ids[it.collab.collab_id],
            relative_age(it.state.opened_ms),
            it.collab.mode.value,
            _cut(outcome(status, it.state.reason), style=STATUS_STYLE.get(status, "")),
            str(it.state.closed),
            str(it.state.usage.tokens),
            _cut(printable(it.collab.title)),
        )
    return table


def _cut(text: str, *, style: str = "") -> Text:
    """Text on one line, cut where the column is too narrow."""
    return Text(" ".join(text.split()), style=style, no_wrap=True, overflow="ellipsis")


def summary_table(results: Sequence[JobResult]) -> Table:
    """Sessions that have ended, one a row."""
    table = Table(box=None, header_style="bold", pad_edge=False)
    for name in ("mode", "ended", "turns", "tokens", "seconds", "turns/s"):
        table.add_column(name, justify="left" if name in ("mode", "ended") else "right")
    for result in results:
        table.add_row(
            result.collab.mode.value,
            Text(outcome(result.collab.status, result.reason), style="" if result.ok else "red"),
            str(result.turns),
            str(result.usage.tokens),
            f"{seconds_of(result):.2f}",
            f"{turns_a_second(result):.1f}",
        )
    return table

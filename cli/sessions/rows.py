"""Rows of `symposia list`, shown as a table."""

from __future__ import annotations

from collections.abc import Iterator, Sequence

from rich.console import Console
from rich.table import Table
from rich.text import Text

from ...client.session_rows import AnyRow, SessionListRow
from ..common.arguments import relative_age, shortest_ids
from ..common.dialog_lines import hanging
from ..common.screen import plain_table, printable
from .render import STATUS_STYLE, outcome


def _cells(row: AnyRow, depth: int) -> tuple[str | Text, ...]:
    """Return the cells after the id and the opening time; `depth` is that in the tree of sessions."""
    if not isinstance(row, SessionListRow):
        return "", _cut("unreadable", style="red"), "", "", "", _cut(printable(row.error))
    usage, badge = row.state.usage, row.condition.badge
    shown = badge or outcome(row.state.status, row.state.reason)
    return (
        row.collab.mode.value,
        _cut(shown, style="yellow" if badge else STATUS_STYLE.get(row.shown, "")),
        str(row.state.closed),
        str(usage.tokens),
        f"{usage.cost_usd:.2f}" if usage.cost_micros else "",
        _cut(_indented(depth, printable(row.collab.title))),
    )


def attention_lines(screen: Console, rows: Sequence[AnyRow]) -> Iterator[Text]:
    """Yield for each session that does not move why, and what happens next."""
    ids = shortest_ids([row.id for row in rows])
    for row in rows:
        if isinstance(row, SessionListRow) and (why := row.condition.sentence(row.state.now_ms)):
            head = Text.assemble((ids[row.id], "bold"), f" {row.condition.badge}: ", style="yellow")
            yield hanging(screen, head, Text(printable(why)))


def _in_tree_order(sessions: Sequence[AnyRow]) -> Iterator[tuple[int, AnyRow]]:
    """Yield the sessions with their depth: sub-sessions follow their parent, if it is among them, oldest first."""
    ids = {session.id for session in sessions}
    below: dict[str | None, list[AnyRow]] = {}
    for session in sessions:
        below.setdefault(session.parent if session.parent in ids else None, []).append(session)

    def visit(parent: str, depth: int) -> Iterator[tuple[int, AnyRow]]:
        for session in reversed(below.get(parent, ())):
            yield depth, session
            yield from visit(session.id, depth + 1)

    for session in below.get(None, ()):
        yield 0, session
        yield from visit(session.id, 1)


def session_table(sessions: Sequence[AnyRow], *, in_tree: bool = True) -> Table:
    """Return a table of sessions, one line each; a narrow terminal cuts status and title, never an id.

    With `in_tree`, sub-sessions follow their parent.
    """
    ids = shortest_ids([session.id for session in sessions])
    numbers = ("turns", "tokens", "cost $")
    table = plain_table("id", "opened", "mode", "status", *numbers, "title", right=numbers)
    for column in table.columns:
        column.no_wrap = column.header not in ("status", "title")
    for depth, session in _in_tree_order(sessions) if in_tree else ((0, row) for row in sessions):
        table.add_row(ids[session.id], relative_age(session.opened_ms), *_cells(session, depth))
    return table


def _indented(depth: int, title: str) -> str:
    return f"{'  ' * (depth - 1)}↳ {title}" if depth else title


def _cut(text: str, *, style: str = "") -> Text:
    """Return text on one line, cut if the column is too narrow."""
    indent = " " * (len(text) - len(text.lstrip()))
    return Text(indent + " ".join(text.split()), style=style, no_wrap=True, overflow="ellipsis")

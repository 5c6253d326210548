"""What a terminal is given: consoles, names in their colours, and text that cannot command it.

Whatever participants say may come from a model, so control characters never reach the
terminal, and nothing they say is read as markup.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cached_property

import typer
from rich.console import Console
from rich.text import Text

from ...models.collab import Participant
from ...models.dialog import Message
from ...models.json_text import json_text

_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
#: Columns where there is no terminal to ask: lines are broken by whoever reads them.
_WIDE = 1_000
_NAME_WIDTH = 16
#: Stands in the column of names where everyone is spoken to.
TO_ALL = "to all"


def console(*, stderr: bool = False) -> Console:
    """A console for people."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _WIDE
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def print_json(data: object, *, lines: bool = False) -> None:
    """Data for programs, on standard output; with `lines` on a line of its own."""
    print(json_text(data, indent=None if lines else 2), flush=lines)  # noqa: T201 - the one place that does


def print_document(text: str) -> None:
    """Print a document of several lines: made `printable`, but with its tabs."""
    typer.echo("\t".join(map(printable, text.split("\t"))), nl=not text.endswith("\n"))


def printable(text: str) -> str:
    """`text` with everything but line breaks that is no visible character made a blank."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


class Cast:
    """The participants of a session as they appear on a screen."""

    def __init__(self, participants: Iterable[Participant]) -> None:
        self._names = {p.participant_id: printable(p.display_name or p.participant_id) for p in participants}
        self._order = list(self._names)

    def name(self, participant_id: str | None) -> str:
        """What a participant is called; who is none is the user."""
        return self._names.get(participant_id or "", printable(participant_id or "user"))

    def styled(self, participant_id: str | None) -> Text:
        """The name, in the participant's own colour, cut and filled up to the width of the column."""
        return self._column(self.name(participant_id), f"bold {self._colour(participant_id)}")

    def speaker(self, message: Message) -> Text:
        """The name of the speaker as `styled` has it; dim if the message was taken from another dialog."""
        if message.former_speaker is None:
            return self.styled(message.speaker)
        return self._column(self.name(message.former_speaker), "dim")

    def _column(self, name: str, style: str) -> Text:
        text = Text(name, style=style)
        text.truncate(self.width, overflow="ellipsis", pad=True)
        return text

    @cached_property
    def width(self) -> int:
        """Columns of the names."""
        return min(_NAME_WIDTH, max(map(len, (TO_ALL, *self._names.values()))))

    def _colour(self, participant_id: str | None) -> str:
        if participant_id not in self._names:
            return "white"
        return _COLOURS[self._order.index(participant_id) % len(_COLOURS)]


def row(screen: Console, turn: int | None, name: Text, words: Text) -> Text:
    """A line of a dialog: turn number, who, what; long text stays in its column."""
    head = Text.assemble((f"{'' if turn is None else turn:>4} ", "dim"), name, " ")
    margin = Text(" " * len(head))
    lines = words.wrap(screen, max(screen.width - len(head), 20), overflow="fold")
    for line in lines:
        line.rstrip()
    return Text("\n").join(
        Text.assemble(margin if number else head, line) if line else Text()
        for number, line in enumerate(lines)
    )

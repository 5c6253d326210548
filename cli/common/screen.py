"""Terminal output: consoles, coloured names, and text without control characters.

The text of participants may come from a model. So control characters never reach the
terminal, and text is never interpreted as markup.
"""

from __future__ import annotations

import sys
from collections.abc import Iterable
from functools import cached_property

import typer
from rich.console import Console
from rich.text import Text

from ...models.protocol.collab import Participant
from ...models.protocol.dialog import Message
from ...models.text.redact import json_text

_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
#: Columns of output without a terminal: the program that reads it wraps the lines.
_PIPE_WIDTH = 1_000
_NAME_WIDTH = 16
#: Name shown for a message to all participants.
TO_ALL = "to all"


def console(*, stderr: bool = False) -> Console:
    """Return a console for human-readable output, on standard output or standard error."""
    stream = sys.stderr if stderr else sys.stdout
    width = None if stream.isatty() else _PIPE_WIDTH
    return Console(stderr=stderr, highlight=False, markup=False, emoji=False, width=width)


def print_json(data: object, *, lines: bool = False) -> None:
    """Print data as JSON on standard output; with `lines` on one line, flushed."""
    print(json_text(data, indent=None if lines else 2), flush=lines)  # noqa: T201 - the one place that does


def print_document(text: str) -> None:
    """Print a document of several lines, made `printable` except for its tabs."""
    typer.echo("\t".join(map(printable, text.split("\t"))), nl=not text.endswith("\n"))


def printable(text: str) -> str:
    """Return `text` with each invisible character except line breaks replaced by a space."""
    return "".join(c if c.isprintable() or c == "\n" else " " for c in text)


class ParticipantNames:
    """Display names and colours of the participants of a session."""

    def __init__(self, participants: Iterable[Participant]) -> None:
        self._names = {p.participant_id: printable(p.display_name or p.participant_id) for p in participants}
        self._order = list(self._names)

    def name(self, participant_id: str | None) -> str:
        """Return the display name of a participant; without an id, `user`."""
        return self._names.get(participant_id or "", printable(participant_id or "user"))

    def styled_name(self, participant_id: str | None) -> Text:
        """Return the name in the participant's colour, cut or padded to the column width."""
        return self._column(self.name(participant_id), f"bold {self._colour(participant_id)}")

    def styled_speaker(self, message: Message) -> Text:
        """Return the speaker's name like `styled_name`; dim if the message comes from another dialog."""
        if message.former_speaker is None:
            return self.styled_name(message.speaker)
        return self._column(self.name(message.former_speaker), "dim")

    def _column(self, name: str, style: str) -> Text:
        text = Text(name, style=style)
        text.truncate(self.width, overflow="ellipsis", pad=True)
        return text

    @cached_property
    def width(self) -> int:
        """Return the width of the name column."""
        return min(_NAME_WIDTH, max(map(len, (TO_ALL, *self._names.values()))))

    def _colour(self, participant_id: str | None) -> str:
        if participant_id not in self._names:
            return "white"
        return _COLOURS[self._order.index(participant_id) % len(_COLOURS)]


def dialog_line(screen: Console, turn: int | None, name: Text, words: Text) -> Text:
    """Return a line of a dialog; long text wraps inside its column.

    Args:
        screen: The console, for its width.
        turn: The turn number, if any.
        name: The speaker's name, already padded.
        words: The text of the message.
    """
    return hanging(screen, Text.assemble((f"{'' if turn is None else turn:>4} ", "dim"), name, " "), words)


def hanging(screen: Console, head: Text, words: Text) -> Text:
    """Return a text whose further lines begin below the end of its head."""
    margin = Text(" " * head.cell_len)
    lines = words.wrap(screen, max(screen.width - head.cell_len, 20), overflow="fold")
    for line in lines:
        line.rstrip()
    return Text("\n").join(
        Text.assemble(margin if number else head, line) if line else Text()
        for number, line in enumerate(lines)
    )

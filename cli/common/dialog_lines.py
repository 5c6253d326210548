"""Lines of a dialog on a terminal: coloured names, and texts that wrap inside their column."""

from __future__ import annotations

from collections.abc import Iterable
from functools import cached_property

from rich.console import Console
from rich.text import Text

from ...models.protocol.collab import Participant
from ...models.protocol.dialog import Message
from .screen import printable

_COLOURS = ("cyan", "magenta", "green", "yellow", "blue", "red")
_NAME_WIDTH = 16
#: Name shown for a message to all participants.
TO_ALL = "to all"


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


def dialog_line(screen: Console, turn: int | None, name: Text, text: Text) -> Text:
    """Return a line of a dialog; long text wraps inside its column.

    Args:
        screen: The console, for its width.
        turn: The turn number, if any.
        name: The speaker's name, already padded.
        text: The text of the message.
    """
    return hanging(screen, Text.assemble((f"{'' if turn is None else turn:>4} ", "dim"), name, " "), text)


def hanging(screen: Console, head: Text, text: Text) -> Text:
    """Return a text whose further lines begin below the end of its head."""
    margin = Text(" " * head.cell_len)
    lines = text.wrap(screen, max(screen.width - head.cell_len, 20), overflow="fold")
    for line in lines:
        line.rstrip()
    return Text("\n").join(
        Text.assemble(margin if number else head, line) if line else Text()
        for number, line in enumerate(lines)
    )

"""Deltas of live output, and their assembly by a reader. Pure.

Deltas are for live display only; the message at the end of a turn is the result. Each delta contains its
position, so a reader that connects late or was disconnected never mixes two attempts, and marks missing
text.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import Field

from .frozen import Frozen

#: Placeholder for output that a reader has missed.
MISSED = "…"


class Delta(Frozen):
    """The next words of a running turn."""

    turn_number: int
    participant_id: str
    #: Grant of the turn, from 1; the words of an earlier one will not be written.
    attempt: int
    #: Execution token of that grant.
    token_id: str
    #: Characters of this attempt's output before these; 0: the output starts, or restarts.
    offset: int = Field(ge=0)
    #: Empty, with offset 0: the words of this turn so far will not be written.
    text: str


@dataclass(slots=True)
class LiveDraft:
    """Output of one turn so far."""

    turn_number: int
    participant_id: str
    attempt: int
    text: str = ""
    #: Characters up to which the words are known.
    end: int = 0


class Drafts:
    """Live texts of the running turns, as one reader knows them.

    drafts = Drafts()
    for piece in job.stream():
        if isinstance(piece, Message):
            drafts.remove(piece.turn_number)
        else:
            drafts.add(piece)
        show(*drafts)
    """

    def __init__(self) -> None:
        self._drafts: dict[int, LiveDraft] = {}

    def __iter__(self) -> Iterator[LiveDraft]:
        """Yield the drafts with text, by the number of their turns."""
        return iter([draft for _, draft in sorted(self._drafts.items()) if draft.text])

    def add(self, delta: Delta) -> None:
        """Add the words where they belong; those of a superseded attempt are left out.

        Args:
            delta: A piece of a running turn.
        """
        known = self._drafts.get(delta.turn_number)
        if known is None or delta.attempt > known.attempt:
            known = self._drafts[delta.turn_number] = LiveDraft(
                delta.turn_number, delta.participant_id, delta.attempt
            )
        if delta.attempt < known.attempt:
            return
        if delta.offset == 0:
            known.text, known.end = "", 0
        gap = MISSED if delta.offset > known.end else ""
        words = delta.text[max(0, known.end - delta.offset) :]
        known.text += gap + words
        known.end = max(known.end, delta.offset + len(delta.text))

    def remove(self, turn_number: int | None) -> None:
        """Remove the draft of a turn, because its message is written.

        Args:
            turn_number: The number of the turn. None changes nothing.
        """
        if turn_number is not None:
            self._drafts.pop(turn_number, None)

    # Earlier names of the methods.
    take = add
    written = remove

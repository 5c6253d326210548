"""Live output in pieces, and how a reader assembles it. Pure.

Pieces are for reading along only: what counts is the message that is written at the end of a
turn. Each piece says where it belongs, so a reader that came late or was cut off never shows
two attempts mixed, and never a text with a hole that it does not show.
"""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from pydantic import Field

from .turn import Frozen

#: Placeholder for output that a reader has missed.
MISSED = "…"


class Delta(Frozen):
    """The next words of a turn that is being spoken."""

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
    """The turns that are being spoken, as one reader knows them.

    drafts = Drafts()
    for piece in job.stream():
        if isinstance(piece, Message):
            drafts.written(piece.turn_number)
        else:
            drafts.take(piece)
        show(*drafts)
    """

    def __init__(self) -> None:
        self._drafts: dict[int, LiveDraft] = {}

    def __iter__(self) -> Iterator[LiveDraft]:
        """Return the drafts with words in them, by the number of their turns."""
        return iter([draft for _, draft in sorted(self._drafts.items()) if draft.text])

    def take(self, delta: Delta) -> None:
        """Add the words where they belong; those of a superseded attempt are left out."""
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

    def written(self, turn_number: int | None) -> None:
        """Replace the draft of a turn by its message: the turn is written."""
        if turn_number is not None:
            self._drafts.pop(turn_number, None)

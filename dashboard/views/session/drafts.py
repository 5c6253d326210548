"""Live output of the turns that run, until their messages are written. Pure."""

from __future__ import annotations

from dataclasses import dataclass

from ....models.turns.streaming import MISSED, Delta

#: Maximum characters of a draft that are kept: its end is not shown before the message is written.
MAX_DRAFT = 8_000


@dataclass(slots=True)
class Draft:
    """What a turn has written so far."""

    turn: int
    attempt: int
    participant: str
    text: str = ""
    #: Characters as the agent wrote them.
    end: int = 0


class Drafts:
    """The drafts of one session, by turn."""

    def __init__(self) -> None:
        self._drafts: dict[int, Draft] = {}

    def add(self, delta: Delta) -> None:
        """Add a piece of output. A piece of an attempt that was replaced changes nothing, and one that is here neither."""
        draft = self._drafts.get(delta.turn_number)
        if draft is None or delta.attempt > draft.attempt:
            draft = Draft(delta.turn_number, delta.attempt, delta.participant_id)
            self._drafts[delta.turn_number] = draft
        if delta.attempt < draft.attempt:
            return
        if delta.offset == 0:  # the output starts, or starts again
            draft.text, draft.end = "", 0
        length = len(delta.text)
        if delta.offset + length <= draft.end:
            return
        missed = MISSED if delta.offset > draft.end else ""
        draft.text = (draft.text + missed + delta.text)[:MAX_DRAFT]
        draft.end = delta.offset + length

    def remove(self, turn: int) -> None:
        """Remove the draft of a turn whose message is written, or whose attempt has ended."""
        self._drafts.pop(turn, None)

    def text(self, turn: int) -> str:
        """Return what a turn has written so far."""
        draft = self._drafts.get(turn)
        return "" if draft is None else draft.text

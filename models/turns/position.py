"""Position of a turn in its session: what a participant must know of it besides the dialog."""

from __future__ import annotations

from pydantic import Field

from .frozen import Frozen


class TurnPosition(Frozen):
    """Position of a turn: round, roles, turns that it builds on. Fields that a mode does not use keep their defaults."""

    #: Number of the current round, from 1; None: the mode has no rounds.
    round: int | None = None
    #: Number of rounds after which the session ends; None: no such limit.
    rounds_max: int | None = None
    #: No turn follows under the limits of the session. For the decision of an orchestrator: no decision follows.
    is_last: bool = False
    #: How the session ends, such as `after 3 rounds or when everybody has answered PASS`; empty: nothing to say.
    ending: str = ""
    #: Participant ids of those with a role in the mode.
    orchestrator: str | None = None
    broadcaster: str | None = None
    aggregator: str | None = None
    reducer: str | None = None
    #: Participant id of who does the work in a pair now.
    driver: str | None = None
    #: Numbers of the turns that this one builds on: the decision of an orchestrator that gave the turn, the work to
    #: review, the review to follow, the answers of the round before, or those of this round for an aggregator.
    builds_on: tuple[int, ...] = ()
    #: Participants whose answers are missing among them.
    missing: tuple[str, ...] = ()
    #: True: the messages of the turn begin with the first one of the session.
    is_whole: bool = False
    #: Participants whose turns run at the same time.
    beside: tuple[str, ...] = ()
    #: True: the work of this turn was handed off to its participant.
    handed_off: bool = False
    #: True: the work item of this turn was handed off too often, and stays with its participant.
    item_stays: bool = False
    #: Texts of other open items of a board, cut to a line.
    open_items: tuple[str, ...] = ()
    #: Number of items of a board that are done, and that were dropped.
    done: int = 0
    dropped: int = 0
    #: Open tensions of an alignment session, one line each, and its round, from 0.
    tensions: tuple[str, ...] = ()
    alignment_round: int | None = None
    #: What others ask of the participant in this turn, without the standard texts of the mode.
    instruction: str = Field(default="", max_length=10_000)

    @property
    def is_last_round(self) -> bool:
        """Whether no round follows."""
        return self.round is not None and self.rounds_max is not None and self.round >= self.rounds_max

    @property
    def rounds_after(self) -> int | None:
        """Number of rounds that follow if nothing else ends the session; None: unknown."""
        if self.round is None or self.rounds_max is None:
            return None
        return max(self.rounds_max - self.round, 0)

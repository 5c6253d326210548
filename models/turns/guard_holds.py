"""Hits of guards, and what a person is asked to approve."""

from __future__ import annotations

from enum import StrEnum

from .frozen import Frozen
from .turn import TurnOutcome


class GuardTime(StrEnum):
    """When a guard checks."""

    #: Before the agent runs: what it would be shown.
    BEFORE = "before"
    #: After the agent has answered, before the answer is written.
    AFTER = "after"


class GuardAction(StrEnum):
    """Effect of a hit."""

    #: The agent is given the turn again, with the reason.
    ASK_AGAIN = "ask_again"
    #: The turn is skipped.
    SKIP = "skip"
    #: A person is asked.
    PARK = "park"
    #: The session is cancelled.
    ABORT = "abort"


class Verdict(StrEnum):
    """Answer of the person who is asked."""

    APPROVE = "approve"
    REFUSE = "refuse"

    @classmethod
    def of(cls, answer: str | None) -> Verdict:
        """Return the verdict of an answer. Only an explicit approval approves; None is no answer."""
        return cls.APPROVE if answer is not None and answer.strip() == cls.APPROVE else cls.REFUSE


#: The answers that a person may give.
VERDICTS = (Verdict.APPROVE.value, Verdict.REFUSE.value)


class GuardHold(Frozen):
    """A turn that was stopped by a guard until a person decides."""

    guard: str
    when: GuardTime
    #: Name of the agent that had the turn; the decision does not hold for its substitute.
    agent: str
    reason: str
    #: The answer that was held; None: the agent has not run.
    outcome: TurnOutcome | None = None
    #: Guards before the agent that persons have approved in this turn.
    admitted: tuple[str, ...] = ()
    #: Guards that persons have approved for this answer before.
    approved: tuple[str, ...] = ()
    #: Number of answers that were refused in this turn before.
    refused: int = 0
    #: None: no decision yet.
    verdict: Verdict | None = None
    #: Who decided; None: no answer in time.
    by: str | None = None


class RefusedAnswer(Frozen):
    """An answer that a guard refused, as the next request to the agent repeats it."""

    guard: str
    reason: str
    #: The agent is not asked again.
    is_last: bool = False
    #: The beginning of the answer.
    said: str = ""

"""Waiting for somebody who answers later: for how long, what then, and what a parked turn remembers.

A turn waits when a person or a remote system sits in its seat, and when an agent asks a
person something before it goes on.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Self

from pydantic import Field, model_validator

from .turn import Draft, Expects, Frozen, GivenAnswer, Question

#: Seconds: a week.
A_WEEK_S = 604_800
Seconds = Annotated[float, Field(gt=0, le=31_536_000)]


class Then(StrEnum):
    """What happens when nobody has answered in time."""

    #: The turn is skipped; an agent that asked goes on without an answer.
    SKIP = "skip"
    #: `default` is taken for the answer.
    DEFAULT = "default"
    #: The registered agent `to` takes the seat; a question is put to `to` instead.
    REASSIGN = "reassign"
    #: `to` may answer, too, for as long again; then the turn fails.
    ESCALATE = "escalate"
    #: The session is cancelled.
    CANCEL = "cancel"


class WaitPolicy(Frozen):
    """How long an answer is waited for, and what then."""

    #: Seconds; None: as long as the session lasts.
    deadline_s: Seconds | None = A_WEEK_S
    then: Then = Then.SKIP
    #: The answer when `then` is `default`.
    default: str | None = Field(default=None, min_length=1, max_length=32_768)
    #: Who is next when `then` is `reassign` or `escalate`.
    to: str | None = Field(default=None, min_length=1, max_length=200)
    #: Seconds after the question at which a reminder is recorded, rising.
    remind_after_s: tuple[Seconds, ...] = Field(default=(), max_length=20)

    @model_validator(mode="after")
    def _is_whole(self) -> Self:
        if (self.then is Then.DEFAULT) != (self.default is not None):
            raise ValueError("`then: default` and `default: TEXT` go together")
        if (self.then in (Then.REASSIGN, Then.ESCALATE)) != (self.to is not None):
            raise ValueError("`then: reassign` or `escalate` and `to: NAME` go together")
        if any(first >= second for first, second in pairwise(self.remind_after_s)):
            raise ValueError("`remind_after_s` must rise")
        return self


class Line(Frozen):
    """A message that is written with the turn's own once the turn ends."""

    speaker: str
    draft: Draft


class Delivery(Frozen):
    """How far a remote system has been told of its turn."""

    #: The same at every attempt: receivers tell a repetition by it.
    message_id: str
    #: JSON, the same at every attempt.
    body: str
    attempts: int = 0
    delivered: bool = False
    #: When it is to be tried again, in milliseconds since the epoch.
    due_ms: int = 0


class Waiting(Frozen):
    """What a parked turn waits for, and what was said and answered in it so far."""

    question: Question
    #: The answer is the turn's own words; otherwise the agent goes on with it.
    is_own: bool = True
    #: Names of those who may answer.
    asked: tuple[str, ...] = ()
    policy: WaitPolicy = WaitPolicy()
    #: Reminders recorded so far.
    reminded: int = 0
    escalated: bool = False
    #: How often the seat was passed on.
    passed_on: int = 0
    delivery: Delivery | None = None
    answers: tuple[GivenAnswer, ...] = ()
    lines: tuple[Line, ...] = ()


class Pending(Frozen):
    """A question that is open now, as whoever may answer it sees it."""

    session_id: str
    title: str
    turn_number: int
    #: Whose turn it is.
    participant: str
    #: Names of those who may answer.
    asked: tuple[str, ...]
    question: Question
    #: The answer is the turn's own words; otherwise it goes to the agent that asked.
    is_own: bool
    expects: Expects
    #: Opens this turn once, to whoever has it.
    reply_token: str
    asked_at: datetime
    #: When it is too late; None: when the session has ended.
    until: datetime | None = None

"""What turns wait for: wait policies, hits of guards, and parked questions.

A turn waits when its participant is a person or a remote system, when an agent asks a person something before it
continues, and when a guard holds it.
"""

from __future__ import annotations

from datetime import datetime
from enum import StrEnum
from itertools import pairwise
from typing import Annotated, Self

from pydantic import Field, model_validator

from ..text.durations import Duration
from .frozen import Frozen
from .turn import DraftMessage, Expects, GivenAnswer, Question, TurnOutcome


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


#: Seconds: a week.
DEFAULT_DEADLINE_S = 604_800
Seconds = Annotated[Duration, Field(gt=0, le=31_536_000)]


class TimeoutAction(StrEnum):
    """Policy for a question without an answer in time."""

    #: The turn is skipped; an agent that asked continues without an answer.
    SKIP = "skip"
    #: `default` is taken for the answer.
    DEFAULT = "default"
    #: The registered agent `to` takes over the turn; a question is sent to `to` instead.
    REASSIGN = "reassign"
    #: `to` may answer, too, for as long again; then the turn fails.
    ESCALATE = "escalate"
    #: The session is cancelled.
    CANCEL = "cancel"


class Awaits(StrEnum):
    """Who answers a parked turn; the value is the state of its Celery task in monitors."""

    HUMAN = "awaiting_human"
    REMOTE = "awaiting_remote"
    SESSION = "awaiting_session"


class WaitPolicy(Frozen):
    """Deadline of an answer, and the action after it."""

    #: Seconds; None: as long as the session lasts.
    deadline_s: Seconds | None = DEFAULT_DEADLINE_S
    then: TimeoutAction = TimeoutAction.SKIP
    #: The answer when `then` is `default`.
    default: str | None = Field(default=None, min_length=1, max_length=32_768)
    #: Next addressee if `then` is `reassign` or `escalate`.
    to: str | None = Field(default=None, min_length=1, max_length=200)
    #: Seconds after the question at which a reminder is recorded, rising.
    remind_after_s: tuple[Seconds, ...] = Field(default=(), max_length=20)
    #: Seconds after the question at which `escalate_to` may answer, too; the deadline stays. None: never.
    escalate_after_s: Seconds | None = None
    escalate_to: str | None = Field(default=None, min_length=1, max_length=200)

    @model_validator(mode="after")
    def _check_fields(self) -> Self:
        if (self.then is TimeoutAction.DEFAULT) != (self.default is not None):
            raise ValueError("`then: default` and `default: TEXT` must be set together")
        if (self.then in (TimeoutAction.REASSIGN, TimeoutAction.ESCALATE)) != (self.to is not None):
            raise ValueError("`to: NAME` must be set together with `then: reassign` or `then: escalate`")
        if (self.escalate_after_s is None) != (self.escalate_to is None):
            raise ValueError("`escalate_after_s` and `escalate_to` must be set together")
        if any(first >= second for first, second in pairwise(self.remind_after_s)):
            raise ValueError("`remind_after_s` must be in ascending order")
        return self


class AddedMessage(Frozen):
    """A message that is written with the turn's own once the turn ends."""

    speaker: str
    draft: DraftMessage


class RemoteDelivery(Frozen):
    """Progress of the delivery of a turn to a remote system."""

    #: The same at every attempt, so receivers can recognise a repetition.
    message_id: str
    #: JSON, the same at every attempt.
    body: str
    attempts: int = 0
    delivered: bool = False
    #: When it is to be tried again, in milliseconds since the epoch.
    due_ms: int = 0


class ChildSession(Frozen):
    """The sub-session that a parked turn waits for."""

    session_id: str
    #: Number of the sub-session within its turn, from 0.
    call: int = 0
    #: What is opened, as a JSON document; empty once it is open.
    document: str = ""
    #: What it may spend, of the reservation of the turn; None: the parent has no such limit.
    tokens: int | None = None
    cost_micros: int | None = None
    #: Checks since it was opened.
    checks: int = 0
    #: Time of the next check, in milliseconds since the epoch.
    due_ms: int = 0

    @property
    def is_open(self) -> bool:
        """Return whether it was opened."""
        return not self.document


class BatchChecks(Frozen):
    """Checks of a parked turn whose model request is in a provider's batch."""

    #: Checks since it was parked.
    count: int = 0
    #: Time of the next check, in milliseconds since the epoch.
    due_ms: int = 0


class ParkedQuestion(Frozen):
    """The open question of a parked turn, and its messages and answers so far."""

    question: Question
    #: The answer is the output of the turn; otherwise the agent continues with it.
    is_own: bool = True
    #: Names of those who may answer.
    asked: tuple[str, ...] = ()
    policy: WaitPolicy = WaitPolicy()
    #: Reminders recorded so far.
    reminded: int = 0
    escalated: bool = False
    #: Number of times that the turn was reassigned.
    passed_on: int = 0
    delivery: RemoteDelivery | None = None
    child: ChildSession | None = None
    batch_checks: BatchChecks | None = None
    answers: tuple[GivenAnswer, ...] = ()
    lines: tuple[AddedMessage, ...] = ()
    #: What a guard holds until a person decides, or held before; None: no guard has parked the turn.
    hold: GuardHold | None = None

    @property
    def is_for_people(self) -> bool:
        """Return whether a person may answer, and not a remote system, a sub-session or a provider's batch."""
        is_remote = self.delivery is not None and not self.escalated  # then a person may answer, too
        return not is_remote and self.child is None and self.batch_checks is None

    @property
    def is_for_guard(self) -> bool:
        """Return whether the question is about what a guard holds."""
        return self.hold is not None and self.hold.verdict is None

    @property
    def next_person(self) -> str | None:
        """The person who may answer, too, after `escalate_after_s`; None: no escalation is left."""
        to = self.policy.escalate_to
        return None if self.escalated or to in self.asked or not self.is_for_people else to

    @property
    def is_decision(self) -> bool:
        """Return whether the answer approves or refuses something."""
        return self.is_for_guard or self.question.is_for_approval


class Pending(Frozen):
    """An open question, as its addressee sees it."""

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
    #: Reply token of this turn.
    reply_token: str
    asked_at: datetime
    #: When it is too late; None: when the session has ended.
    until: datetime | None = None
    #: Why the newest notice to a person about it was not sent; empty: none has failed.
    notice_failed: str = ""

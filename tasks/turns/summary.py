"""Result of one delivery of a turn, as a short text for monitors such as Flower."""

from __future__ import annotations

from dataclasses import dataclass

from ...models.sessions.stop_conditions import StopReason
from ...models.text.redact import excerpt
from ...models.turns.turn import OutcomeKind, TurnOutcome
from ...state.sessions.records import SessionState
from ..views.view import SessionFacts

#: Maximum characters of an error shown.
MAX_ERROR = 200

#: Answers of `commit` after which the turn is written, or will be after a resume.
WRITTEN = ("committed", "held", "done")

#: Text for each effect of a turn's last failure.
FAILURE_EFFECTS = {
    OutcomeKind.SKIPPED: "the turn is skipped",
    OutcomeKind.FAILED: "the session is cancelled",
}

_MEANINGS = {
    "busy": "another worker runs this turn",
    "done": "already completed",
    "early": "not due yet",
    "exhausted": "budget exhausted",
    "gone": "already completed",
    "inactive": "session is not active",
    "lost": "lease lost, output discarded",
    "missing": "session not found",
    "overdue": "session deadline passed",
    "short": "waiting for budget",
    "unknown": "unknown turn",
    "waiting": "parked: waiting for an answer",
}


@dataclass(frozen=True, slots=True)
class PlanNext:
    """The session's next step must be planned.

    Attributes:
        state: the session as the script left it; None: read it.
        exhausted: the budget that ends the session.
    """

    state: SessionState | None = None
    exhausted: StopReason | None = None


@dataclass(frozen=True, slots=True)
class WakeParked:
    """Follow-up: the turn is parked, and work is due for it.

    Attributes:
        facts: collab and specification of the session.
        state: the session after the script.
    """

    facts: SessionFacts
    state: SessionState


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """Result of one delivery of a turn.

    Attributes:
        word: answer of the deciding script.
        summary: what happened; contains no dialog text and no secrets.
        failed: a failure exhausted the turn's attempts, or ended its session.
        follow_up: work after this delivery that does not belong to the turn itself.
    """

    word: str
    summary: str = ""
    failed: bool = False
    follow_up: PlanNext | WakeParked | None = None

    @property
    def text(self) -> str:
        """Return the text for monitors."""
        return self.summary or _MEANINGS.get(self.word, self.word)


def summarize_commit(word: str, kind: OutcomeKind, outcome: TurnOutcome) -> TurnEnd:
    """Return the end of a turn whose commit answered `word`."""
    summary = _describe_outcome(kind, outcome)
    if word == "held":
        summary = f"held until the session is resumed: {summary}"
    elif word not in WRITTEN:
        summary = f"discarded ({word}): {summary}"
    return TurnEnd(word, summary)


def _describe_outcome(kind: OutcomeKind, outcome: TurnOutcome) -> str:
    summary = str(kind)
    if kind is OutcomeKind.MESSAGE:
        summary = f"said {sum(len(draft.content) for draft in outcome.messages)} characters"
    elif outcome.decision or outcome.hand_off or outcome.items:
        summary = "decided"
    tokens = outcome.usage.tokens
    return f"{summary}, {tokens} tokens" if tokens else summary


def summarize_failure(word: str, error: str, then: str, *, is_last: bool) -> TurnEnd:
    """Return the end of an attempt that failed; `then`: what happens next."""
    return TurnEnd(word, f"{_failure(error)}; {then}", failed=is_last)


def summarize_return(word: str, error: str, then: str, *, is_last: bool = False) -> TurnEnd:
    """Return the end of a failed attempt whose `fail` answered `word`; `then`: what happens next if it was given back."""
    if word != "retried":
        return TurnEnd(word, f"discarded ({word}): {_failure(error)}")
    return summarize_failure(word, error, then, is_last=is_last)


def _failure(error: str) -> str:
    return f"failed: {excerpt(error, MAX_ERROR)}"

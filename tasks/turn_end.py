"""What became of one delivery of a turn, in a few words for monitors such as Flower."""

from __future__ import annotations

from dataclasses import dataclass

from ..models.shown import excerpt
from ..models.turn import OutcomeKind, TurnOutcome

#: Characters of an error that are shown.
MAX_ERROR = 200

#: Answers of `commit` after which the turn is written, or will be when the session is resumed.
WRITTEN = ("committed", "held", "done")

#: What the last failure of a turn comes to.
THEN = {
    OutcomeKind.SKIPPED: "the turn is skipped",
    OutcomeKind.FAILED: "the session is cancelled",
}

_MEANINGS = {
    "busy": "another worker has this turn",
    "done": "already completed",
    "early": "not due yet",
    "exhausted": "budget exhausted",
    "gone": "already completed",
    "inactive": "session is not active",
    "lost": "lease lost, output discarded",
    "missing": "session not found",
    "overdue": "session deadline passed",
    "short": "waits for budget",
    "unknown": "unknown turn",
    "waiting": "parked: waits for an answer",
}


@dataclass(frozen=True, slots=True)
class TurnEnd:
    """What became of one delivery of a turn.

    Attributes:
        word: answer of the script that decided.
        summary: what happened; holds no words of the dialog and no secrets.
        failed: a failure exhausted the turn's attempts, or ended its session.
    """

    word: str
    summary: str = ""
    failed: bool = False

    @property
    def text(self) -> str:
        """What monitors show."""
        return self.summary or _MEANINGS.get(self.word, self.word)


def written(word: str, kind: OutcomeKind, outcome: TurnOutcome) -> TurnEnd:
    """Return the end of a turn whose commit answered `word`."""
    summary = _said(kind, outcome)
    if word == "held":
        summary = f"held until the session is resumed: {summary}"
    elif word not in WRITTEN:
        summary = f"discarded ({word}): {summary}"
    return TurnEnd(word, summary)


def _said(kind: OutcomeKind, outcome: TurnOutcome) -> str:
    summary = str(kind)
    if kind is OutcomeKind.MESSAGE:
        summary = f"said {sum(len(draft.content) for draft in outcome.messages)} characters"
    elif outcome.decision or outcome.hand_off or outcome.items:
        summary = "decided"
    tokens = outcome.usage.tokens
    return f"{summary}, {tokens} tokens" if tokens else summary


def failed(word: str, error: str, then: str, *, is_last: bool) -> TurnEnd:
    """Return the end of an attempt that failed; `then`: what happens next."""
    return TurnEnd(word, f"{_failure(error)}; {then}", failed=is_last)


def given_back(word: str, error: str, then: str, *, is_last: bool = False) -> TurnEnd:
    """Return the end of a failed attempt whose `fail` answered `word`; `then`: what happens next if it was given back."""
    if word != "retried":
        return TurnEnd(word, f"discarded ({word}): {_failure(error)}")
    return failed(word, error, then, is_last=is_last)


def _failure(error: str) -> str:
    return f"failed: {excerpt(error, MAX_ERROR)}"

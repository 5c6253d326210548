"""Experts that speak from a script by rounds, and a judge that scores them."""

from __future__ import annotations

from symposia.models.alignment.marks import Scores
from symposia.models.turns.turn import Decision, Expects, TurnContext, TurnOutcome

EXPERTS = ("muffin", "scone", "eclair", "donut", "brioche")
CONVERGE = "[MOVE:CONVERGE]"


def _round(turn: TurnContext) -> int:
    return sum(message.speaker == turn.me.participant_id for message in turn.messages)


def expert(turn: TurnContext) -> str:
    """Raises in round 0, settles in round 1, agrees in round 2."""
    name, number = turn.me.participant_id, _round(turn)
    if number == 0:
        return f"[PERSPECTIVE P01: What {name} sees]\n\nBecause.\n\n[TENSION T01: What troubles {name}]\n\n## Not a round"
    if number == 1:
        other = EXPERTS[(EXPERTS.index(name) + 1) % len(EXPERTS)]
        return f"[CONCESSION {other.upper()} T01: {other} is right]\n\n[RESOLVED T01: settled]\n\n{CONVERGE} if nothing new comes"
    return f"Nothing more to say.\n\n{CONVERGE}"


def stubborn(turn: TurnContext) -> str:
    """Finds something new in every round, and agrees each time."""
    number = _round(turn)
    return f"[TENSION T{number + 1:02}: Trouble {number} of {turn.me.participant_id}]\n\n{CONVERGE}"


def sloppy(turn: TurnContext) -> str:
    """Write in a loose form until corrected."""
    told = "does not follow the format" in turn.instruction
    text = "[TENSION T01: Loose]" if told else "- [TENSION T1]: Loose, and [RESOLVED T1"
    return text if _round(turn) == 0 else f"[RESOLVED T01: done]\n\n{CONVERGE}"


def judge(turn: TurnContext) -> TurnOutcome:
    """Let all experts answer in parallel, and score them."""
    assert turn.expects is Expects.DECISION
    scores = {name: Scores(wisdom=3, consistency=2, truth=3, relationships=1) for name in EXPERTS}
    decision = Decision(next=EXPERTS, side_by_side=True, instruction="Go on.", scores=scores)
    return TurnOutcome.say("Go on.").model_copy(update={"decision": decision})

"""Texts of an alignment session: experts mark what they bring, a judge scores them."""

from __future__ import annotations

from ...text.tags import clean_line
from ...turns.turn import Expects, TurnContext
from .common import ModeTexts, lines

#: Maximum number of open tensions in a request, and of characters of each.
MAX_TENSIONS = 20
MAX_TENSION = 200

_EXPERT = """\
Argue your view, and move when others are right. Mark what you bring, each marker alone at the start of a line, your \
text below it:
[PERSPECTIVE P01: short label] a new way to see the matter
[TENSION T01: short label] an open question or a conflict
[REFINEMENT P01: short label] a point made more precise
[CONCESSION: what you grant, and to whom]
[RESOLVED T01: how it is settled]
Number your own perspectives and tensions on: P01, P02, T01, T02, each number once. For another expert's, put the name \
first, in capitals: [RESOLVED SCONE T01: Both agree]. To write about a marker, put it between backticks. Close every \
bracket and code block.
Raise a tension only if it would change the decision. Resolve only what is settled in fact; write \
[REFINEMENT T01: Deferred to ...] for what is put off on purpose.
When no tension that concerns you is open and you have no new perspective, end with the line [MOVE:CONVERGE], without \
conditions."""
_JUDGE = (
    "Score every expert who has spoken, each of four from 0 up: wisdom (sees what matters), consistency (fits what it "
    "said before), truth (right on the facts), relationships (takes up others and resolves). Score what was done, not "
    "eloquence; totals are computed. You may mark [RESOLVED NAME T01: ...] for what the experts have settled. The panel "
    "has converged when a round brings no new perspective, leaves no tension open, and every expert has ended with "
    "[MOVE:CONVERGE]."
)
_TABLE = (
    "Before anything else, write the scores as a Markdown table with the columns Agent, Wisdom, Consistency, Truth, "
    "Relationships."
)


def judges(turn: TurnContext) -> bool:
    """Return whether the participant scores the experts."""
    position, me = turn.position, turn.me.participant_id
    return turn.expects is Expects.DECISION or me in (position.orchestrator, position.aggregator)


def alignment_texts(mode: ModeTexts) -> ModeTexts:
    """Return the texts of a mode in an alignment session."""

    def form(turn: TurnContext, /, *, structured: bool) -> str:
        own = mode.form(turn, structured=structured)
        if judges(turn):
            return lines(own, _JUDGE, "" if structured else _TABLE)
        return _EXPERT

    def request(turn: TurnContext, /, *, structured: bool) -> str:
        return lines(_tensions(turn), mode.request(turn, structured=structured))

    return ModeTexts(rules=mode.rules, form=form, request=request, question=mode.question)


def _tensions(turn: TurnContext) -> str:
    position = turn.position
    tensions = position.tensions
    if not tensions and not position.alignment_round:
        return ""  # the opening round: the text of the mode asks for the participant's view
    if not tensions:
        return "No tension is open."
    more = len(tensions) - MAX_TENSIONS
    return lines(
        "Open tensions:",
        *(clean_line(tension, MAX_TENSION) for tension in tensions[:MAX_TENSIONS]),
        f"and {more} more" if more > 0 else "",
    )

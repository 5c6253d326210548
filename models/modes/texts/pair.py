"""Texts of a pair: for the driver and for the navigator, who may change places."""

from __future__ import annotations

from ...turns.turn import Expects, TurnContext
from .common import ModeTexts, indented, instruction_of, lines, name, turns_left

_RULES = (
    "They work as a pair: the driver does the work, the navigator reviews each version, until the navigator approves. "
    "If the driver hands off, they change places."
)
_FORM = """\
As the driver, do the work and show it whole: each version complete, ready to be used as it is, with one line on what \
changed and why. When the navigator asked for changes, make each of them or say why not. To change places, end with a \
line of its own, HAND OFF: {partner}
As the navigator, check the newest version against the task: is it right, complete, and usable as it stands? Ask for a \
change only if it matters for the task; name the place, what is wrong, and what would be right. Check first what you \
asked for before; do not raise new matters of taste in later rounds. Approve when nothing that matters is left."""
_TEXT_REVIEW = (
    " If nothing that matters is left, begin with the line APPROVED: and name in one sentence what is right "
    "about it. Otherwise do not write that word, and list what must change."
)
_LAST_REVIEW = "This is the last review: if you do not approve, the session ends without approval."


def _partner(turn: TurnContext) -> str:
    return next(
        (name(p.participant_id) for p in turn.roster if p.participant_id != turn.me.participant_id),
        "the other",
    )


def _form(turn: TurnContext, /, *, structured: bool) -> str:  # noqa: ARG001 - the same in the turns of both
    return "" if _is_alone(turn) else _FORM.format(partner=_partner(turn))


def _is_alone(turn: TurnContext) -> bool:
    """Return whether there is no partner: a task-manager reviews the task of an app."""
    return len(turn.roster) == 1


def _request(turn: TurnContext, /, *, structured: bool) -> str:
    navigates = turn.expects is Expects.REVIEW
    request = _review(turn, structured=structured) if navigates else lines(_work(turn), turns_left(turn))
    return lines(instruction_of(turn), request)


def _work(turn: TurnContext) -> str:
    position, partner = turn.position, _partner(turn)
    before = position.builds_on[-1:]
    if position.handed_off:
        return (
            f"You are now the driver and go on from turn {before[0]}."
            if before
            else "You are now the driver. Do the task."
        )
    if before:
        return f"You are the driver. {partner} asked for changes in turn {before[0]}."
    if position.missing:
        return f"You are the driver. {partner} gave no review of the version before. Improve it, or give it again."
    return "You are the driver. Do the task."


def _review(turn: TurnContext, *, structured: bool) -> str:
    if _is_alone(turn):
        return "Answer with the tool review." if structured else _TEXT_REVIEW.strip()
    position = turn.position
    before = position.builds_on[-1:]
    if not before:
        what = f"{_partner(turn)} has written no version yet: do not approve, and say what is needed"
    elif position.missing:
        what = f"{_partner(turn)} has written no new version. Review turn {before[0]}"
    else:
        what = f"Review turn {before[0]}"
    how = ". Use the tool review." if structured else "." + (_TEXT_REVIEW if before else "")
    if structured and before:
        how = " with the tool review."
    last = _LAST_REVIEW if position.is_last else ""
    more = "" if position.is_last else turns_left(turn)
    return lines(f"You are the navigator. {what}{how}" + (f" {last}" if last else ""), more)


def _question(turn: TurnContext, /) -> str:
    if turn.expects is Expects.REVIEW:
        question = (
            f"Is {_plain_partner(turn)}'s text good enough for the task? "
            "Answer APPROVED: and why, or write what must change."
        )
    else:
        question = "Do the task. Write it whole."
    return lines(indented(turn.position.instruction.strip()), question)


def _plain_partner(turn: TurnContext) -> str:
    return next(
        (
            name(p.display_name or p.participant_id)
            for p in turn.roster
            if p.participant_id != turn.me.participant_id
        ),
        "the other",
    )


def _rules(turn: TurnContext, /) -> str:
    return "" if _is_alone(turn) else _RULES


TEXTS = ModeTexts(rules=_rules, form=_form, request=_request, question=_question)

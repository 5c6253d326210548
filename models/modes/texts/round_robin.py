"""Texts of a round robin."""

from __future__ import annotations

from ...turns.turn import TurnContext
from .common import ModeTexts, any_question, indented, instruction_of, lines, turns_left

_RULES = "They speak one after the other, in the order below, and read everything that was said."
_FORM = (
    "Say what is missing, wrong or undecided so far, and what you would do. Do not repeat what was said; refer to it "
    "by name. If you have nothing to add, answer with the one word PASS."
)
_MAY_HAND_OFF = " To let another speak next, end with the line: HAND OFF: name"
_FIRST = "You speak first. State your view of the task: what you propose, why, and what you are unsure of."
_FIRST_TO_SAY = (
    "Nobody has had a turn with an answer before you. State your view of the task: what you propose, why, and what you "
    "are unsure of."
)
_MIDDLE = "Add what changes the picture, or PASS."
_LAST_ROUND = "This is the last round. Say what you would now decide, and what remains open."
_LAST = (
    "You are the last to speak: your answer stands as the result of the session. Write the answer to the task, "
    "complete and readable without the conversation: what was agreed, what was not, what follows. Do not PASS."
)
_LAST_OUTPUT = "You are the last to speak: your answer is the result of the session. Do not PASS."
_NUMBERS = ("Two", "Three", "Four", "Five", "Six", "Seven", "Eight", "Nine", "Ten")


def _form(turn: TurnContext, /, *, structured: bool) -> str:  # noqa: ARG001 - as in `FormText`
    return _FORM + (_MAY_HAND_OFF if len(turn.roster) > 1 else "")


def _request(turn: TurnContext, /, *, structured: bool) -> str:  # noqa: ARG001 - as in `FormText`
    position, instruction = turn.position, instruction_of(turn)
    if position.is_last:
        return lines(instruction, _LAST if turn.output_schema is None else _LAST_OUTPUT)
    if instruction:
        return lines(instruction, turns_left(turn))
    if turn.turn_number == 1:
        return lines(_FIRST, _one_more(turn))
    if position.is_last_round:
        return _LAST_ROUND
    if position.round == 1:
        return lines(_later_speaker(turn), _one_more(turn))
    return lines(_MIDDLE, _one_more(turn))


def _later_speaker(turn: TurnContext) -> str:
    speakers = {message.speaker for message in turn.messages if message.turn_number is not None}
    count = len(speakers - {turn.me.participant_id, None})
    if not count:
        return _FIRST_TO_SAY
    number = _NUMBERS[count - 2] if 2 <= count <= 10 else str(count)
    have = "One has" if count == 1 else f"{number} have"
    return f"{have} spoken before you. Take up what they said."


def _one_more(turn: TurnContext) -> str:
    return turns_left(turn) if turn.position.rounds_after else ""


def _question(turn: TurnContext, /) -> str:
    return (
        lines(indented(turn.position.instruction.strip()), _PLAIN_LAST)
        if turn.position.is_last
        else any_question(turn)
    )


_PLAIN_LAST = "Write the final answer to the task."

TEXTS = ModeTexts(rules=lambda _turn: _RULES, form=_form, request=_request, question=_question)

"""Texts of a broadcast: for those who answer, for the aggregator, and for the author of the message."""

from __future__ import annotations

from ...turns.turn import TurnContext
from .common import (
    STANDS,
    ModeTexts,
    indented,
    instruction_of,
    lines,
    name,
    names,
    sentences,
    turns,
    turns_left,
)

_ALONE_NOW = "Answer the task on your own."
_OTHERS = "The others do the same now; nobody sees the others' answers of this round."
_ALONE = "Answer the task."
_LATER = (
    "Say what you now hold, what you changed and because of whom, and what you still see differently. Do not change "
    "your mind only because others differ."
)
_NOBODY = "Say what you now hold."
_LAST_ROUND = "This is the last round: give your final answer whole."
_SUM_UP = (
    "Say where they agree, where they differ and on what grounds, which is best supported, and then the answer to the "
    "task. Attribute what only one of them says. Do not count votes where there are reasons."
)
_WRITE = "Write the message that goes to all who answer. Each of them answers it on its own."


def _answering(turn: TurnContext) -> list[str]:
    position = turn.position
    ids = [p.participant_id for p in turn.roster]
    return [one for one in ids if one not in (position.aggregator, position.broadcaster)] or ids


def _rules(turn: TurnContext, /) -> str:
    position, answering = turn.position, _answering(turn)
    silent = [who for who in (position.broadcaster, position.aggregator) if who and who not in answering]
    if position.broadcaster in silent:
        readers = (
            f"all but {name(position.aggregator)}" if position.aggregator in silent[1:] else "all others"
        )
        answer = begin = f"{name(position.broadcaster)} writes a message to {readers}, and they answer it"
    else:
        answer = f"all but {names(silent)} answer" if silent else "all answer"
        begin = f"A{answer[1:]}"
    if position.rounds_max == 1:
        rules = f"{begin} at the same time, without seeing each other's answers."
    else:
        rules = (
            f"In each round {answer} at the same time, without seeing the answers of that round; everybody has "
            "read those of earlier rounds."
        )
    aggregator = position.aggregator
    sums = (
        f" Then {name(aggregator)}, who does not answer, reads all answers and sums them up."
        if aggregator and aggregator not in answering
        else ""
    )
    return rules + sums


def _request(turn: TurnContext, /, *, structured: bool) -> str:  # noqa: ARG001 - as in `FormText`
    position, me = turn.position, turn.me.participant_id
    if position.instruction:
        return lines(instruction_of(turn), turns_left(turn))
    answers = me in _answering(turn)
    if me == position.aggregator and not answers:
        return _sum_up(turn)
    if me == position.broadcaster and not answers:
        return lines(_WRITE, turns_left(turn))
    own = _own(turn)
    request = (
        own
        if position.round in (None, 1)
        else sentences(_before(turn), _asked(turn), _LATER if position.builds_on else _NOBODY)
    )
    if position.is_last_round and position.rounds_max != 1:
        request = sentences(request, "" if position.aggregator else _LAST_ROUND)
        return lines(request, turns_left(turn) if position.aggregator else "")
    return lines(request, turns_left(turn) if position.rounds_after else "")


def _own(turn: TurnContext) -> str:
    if len(_answering(turn)) == 1:
        return _asked(turn) or _ALONE
    return sentences(_asked(turn) or _ALONE_NOW, _OTHERS)


def _asked(turn: TurnContext) -> str:
    """Return where the message of this round stands; empty: nobody has written one."""
    sender = turn.position.broadcaster
    numbers = [m.turn_number for m in turn.messages if sender and m.speaker == sender and m.turn_number]
    return f"Answer what {name(sender)} writes in turn {numbers[-1]}." if numbers else ""


def _before(turn: TurnContext) -> str:
    position = turn.position
    number = position.round or 2
    if not position.builds_on:
        return f"Nobody else answered in round {number - 1}."
    where = "is in" if len(position.builds_on) == 1 else "are in"
    what = "The other answer" if len(position.builds_on) == 1 else "The others' answers"
    return f"{what} of round {number - 1} {where} {turns(position.builds_on)}."


def _sum_up(turn: TurnContext) -> str:
    position = turn.position
    of_round = f" of round {position.round}" if position.round else ""
    if not position.builds_on:
        return sentences(
            f"You did not answer yourself. Nobody answered{f' in round {position.round}' if position.round else ''}. "
            "Say so, and what follows.",
            STANDS if position.is_last else "",
        )
    missing = position.missing
    none = f"; {names(missing)} gave none" if missing else ""
    is_one = len(position.builds_on) == 1
    answers = f"The {'answer' if is_one else 'answers'}{of_round} {'is' if is_one else 'are'} in"
    return sentences(
        f"You did not answer yourself. {answers} {turns(position.builds_on)}{none}.",
        _SUM_UP,
        STANDS if position.is_last else "",
    )


def _question(turn: TurnContext, /) -> str:
    position, me = turn.position, turn.me.participant_id
    if position.instruction:
        return indented(position.instruction.strip())
    if me not in _answering(turn):
        return _WRITE if me == position.broadcaster else "Sum up the answers and give one answer to the task."
    return "Answer the task."


TEXTS = ModeTexts(rules=_rules, request=_request, question=_question)

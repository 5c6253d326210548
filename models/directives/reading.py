"""The outcome of a turn with what its text directs."""

from __future__ import annotations

import logging
from collections.abc import Sequence

from ..memory.learned import read_remarks
from ..memory.recollections import MAX_NOTES, read_notes
from ..modes import mode_of
from ..text.words import count_of
from ..turns.items import NewItem
from ..turns.turn import Decision, Expects, TurnContext, TurnOutcome
from .decisions import read_decision
from .lines import Directive, read_lines, spoken_lines, unwrap
from .names import Names
from .questions import read_question
from .verdicts import is_pass, read_verdict

log = logging.getLogger(__name__)

_MAX_ITEMS = 100
_MAX_TEXT = 8_000


def read_directives(context: TurnContext, outcome: TurnOutcome) -> TurnOutcome:
    """Return the outcome with what its text directs; its content stays as it was said.

    An outcome that already carries structured fields is left alone. Names of no participant are
    kept as they were said, so that a planner can refuse them with a reason. A decision turn
    without any directive has a decision without a speaker, with the whole text as its instruction.
    """
    if context.memory is not None and outcome.learned is None:
        lines = (line for message in outcome.messages for line in spoken_lines(message.content))
        outcome = outcome.model_copy(update={"learned": read_remarks(map(unwrap, lines))})
    if context.recalled is not None and not outcome.notes:
        outcome = _with_notes(context, outcome)
    structured = outcome.passed or outcome.decision or outcome.hand_off or outcome.items
    if structured or not outcome.messages:
        return outcome
    if (asking := read_question(context, outcome)) is not None:
        return asking
    text = "\n".join(message.content for message in outcome.messages)
    if is_pass(text):
        return outcome.model_copy(update={"passed": True, "messages": ()})
    if context.expects is Expects.DECISION:
        # The planner gives a text without a decision to the longest waiting, as its instruction.
        decision = read_decision(text, context) or Decision()
        if not decision.satisfied and not decision.instruction and (decision.fault or not decision.next):
            decision = decision.model_copy(update={"instruction": text[:_MAX_TEXT]})
        return outcome.model_copy(update={"decision": decision})
    if context.expects is Expects.REVIEW:
        return outcome.model_copy(update={"decision": read_verdict(text)})
    directives = list(read_lines(text))
    return _with_directives(context, outcome, directives) if directives else outcome


def _with_directives(
    context: TurnContext, outcome: TurnOutcome, directives: Sequence[Directive]
) -> TurnOutcome:
    names = Names(context.roster)
    if mode_of(context.mode).has_board:
        return outcome.model_copy(update=_board_changes(directives, names))
    targets = _hand_offs(directives)
    hand_off = names.resolve(names.first(targets[0])) if targets else None
    return outcome.model_copy(update={"hand_off": hand_off}) if hand_off else outcome


def _with_notes(context: TurnContext, outcome: TurnOutcome) -> TurnOutcome:
    """Return the outcome with the lines `NOTE:` of its text; further ones are dropped."""
    lines = (line for message in outcome.messages for line in spoken_lines(message.content))
    notes = read_notes(map(unwrap, lines))
    if len(notes) > MAX_NOTES:
        log.warning(
            "turn %s of %s: %s dropped, a turn may add %d",
            *(context.turn_number, context.session_id, count_of(len(notes) - MAX_NOTES, "note"), MAX_NOTES),
        )
    return outcome.model_copy(update={"notes": notes[:MAX_NOTES]}) if notes else outcome


def _board_changes(directives: Sequence[Directive], names: Names) -> dict[str, object]:
    targets = _hand_offs(directives)
    items = [d for d in directives if d.word == "ITEM" and d.text]
    return {
        "hand_off": names.resolve_role(names.first(targets[0])) if targets else None,
        "items": tuple(
            NewItem(text=item.text[:_MAX_TEXT], role=names.resolve_role(item.target) if item.target else None)
            for item in items[:_MAX_ITEMS]
        ),
    }


def _hand_offs(directives: Sequence[Directive]) -> list[str]:
    return [d.text for d in directives if d.word in ("HAND OFF", "HANDOFF") and d.text]

"""Texts of an orchestrated session: for the orchestrator, and for those whom it asks."""

from __future__ import annotations

from collections.abc import Iterator

from ...text.tags import clean_line
from ...turns.decision_ledger import DecisionLedger, LedgerParticipant, LedgerTurn
from ...turns.turn import Expects, TurnContext
from .common import (
    ONE_MORE,
    ModeTexts,
    any_question,
    enumerate_words,
    indented,
    instruction_of,
    label,
    lines,
    name,
    names,
    sentences,
    shown_turns,
)

#: Maximum number of participants in the ledger of a request, and of characters of a question in it.
MAX_LINES = 30
MAX_ASKED = 100

_LEAD = """\
You lead this session and do not do the work yourself. Before you decide, ask: Is the task answered, so that a reader \
of the answer alone would be content? If not, what single thing is missing most, and who is best placed to provide it?
Ask as few participants as needed; ask several at once only if their work does not depend on each other. Each task you \
give says what to find out or produce, in what form, what is known already, and what is not part of it. Do not ask \
again for what was answered well. When two disagree, have the point decided by facts, or by the one whose field it is. \
Agreement is not the goal; an answered task is.
"""
_LEAD_TOOL = (
    "When the task is answered, set satisfied and write the answer in `answer`: the complete answer for the person who "
    "set the task, not a remark that the work is done. If it cannot be answered, do the same and say what is missing. "
    "Use the tool decide."
)
_LEAD_TEXT = """\
{begin} only with lines of this form:
NEXT: name, or several names in order (TOGETHER: name, name lets them work at the same time)
INSTRUCTION name: what this participant is to do, as long as needed
STALLED: why, as an additional line if the turns since your last decision brought nothing new
When the task is answered, or cannot be answered, write instead:
DONE:
the complete answer to the task, for the person who set it
Names: {ids}"""
_LAST_DECISION = "This is your last decision. Finish now with the best answer the conversation supports, and say what it lacks."
_NEW_PLAN = (
    "The last {count} decisions brought nothing new, so the newest one was not carried out. Say in reason what is "
    "known, what blocks, and what you will do differently; then ask somebody else, ask for something else, or finish."
)
_NEW_PLAN_TEXT = (
    "The last {count} decisions brought nothing new, so the newest one was not carried out. Ask somebody else, ask for "
    "something else, or finish."
)


def _rules(turn: TurnContext, /) -> str:
    lead = name(turn.position.orchestrator) or "The orchestrator"
    return (
        f"{lead} leads: it decides who speaks next and what for, one or several at a time. "
        "The others speak only when asked."
    )


def leads(turn: TurnContext) -> bool:
    """Return whether the participant is the orchestrator."""
    return turn.expects is Expects.DECISION or turn.me.participant_id == turn.position.orchestrator


def _others(turn: TurnContext) -> list[str]:
    return [p.participant_id for p in turn.roster if p.participant_id != turn.me.participant_id]


def _form(turn: TurnContext, /, *, structured: bool) -> str:
    if leads(turn):
        return _LEAD + (
            _LEAD_TOOL
            if structured
            else _LEAD_TEXT.format(
                begin="After the table, answer" if turn.scoring else "Answer",
                ids=", ".join(map(name, _others(turn))),
            )
        )
    lead = name(turn.position.orchestrator) or "the orchestrator"
    return (
        f"Answer what {lead} asks of you, completely: the others read only what you write here. Give results and their "
        "grounds, not intentions. If you cannot do it, say what you lack and who could provide it. If it is not for "
        "you at all, answer PASS."
    )


def _request(turn: TurnContext, /, *, structured: bool) -> str:
    if turn.expects is Expects.DECISION:
        return _decision(turn, structured=structured)
    lead = name(turn.position.orchestrator) or "The orchestrator"
    instruction, decision = instruction_of(turn), turn.position.builds_on
    if not instruction:
        return f"{lead} gives you the turn. Say what the task needs from you now."
    asked = f"{lead} asks you: {indented(instruction)}"
    if decision and decision[0] in shown_turns(turn) and _says(turn, decision[0]):
        asked = f"Do what {lead} asks of you in turn {decision[0]}."
    beside = turn.position.beside
    work, answers = ("work", "their answers") if len(beside) > 1 else ("works", "the answer")
    together = f"{names(beside)} {work} at the same time; you do not see {answers}." if beside else ""
    return sentences(asked, together)


def _says(turn: TurnContext, number: int) -> bool:
    """Return whether the messages of a turn contain the instruction."""
    instruction = turn.position.instruction.strip()
    return any(message.turn_number == number and instruction in message.content for message in turn.messages)


def _decision(turn: TurnContext, *, structured: bool) -> str:
    position, ledger = turn.position, turn.ledger
    is_last = position.is_last or position.is_last_round
    parts = ["Decide."]
    if ledger is not None:
        parts += _ledger_lines(ledger, turn)
        if ledger.stalls:
            parts.append(f"Decisions without progress: {ledger.stalls} of {ledger.max_stalls}.")
        elif ledger.new_plan:
            plan = _NEW_PLAN if structured else _NEW_PLAN_TEXT
            parts.append(plan.format(count=ledger.max_stalls + 1))
        if ledger.fault:
            tries, ids = f"{ledger.invalid} of {ledger.max_invalid}", ", ".join(map(name, _others(turn)))
            fault = clean_line(ledger.fault, 500).rstrip(".")
            parts.append(f"Your last decision could not be used ({tries}): {fault}. Names: {ids}.")
    if is_last:
        parts.append(_LAST_DECISION)
    elif position.rounds_after == 1:
        parts.append(ONE_MORE)
    return "\n".join(parts)


def _ledger_lines(ledger: DecisionLedger, turn: TurnContext) -> Iterator[str]:
    shown = ledger.participants
    if len(shown) > MAX_LINES:
        silent_first = sorted(shown, key=lambda p: p.last_turn or 0)[:MAX_LINES]
        kept = {p.participant_id for p in silent_first}
        shown = tuple(p for p in shown if p.participant_id in kept)
    for participant in shown:
        yield _participant_line(participant, ledger, turn)
    if len(ledger.participants) > len(shown):
        yield f"and {len(ledger.participants) - len(shown)} others"
    for hand_off in ledger.hand_offs:
        yield f"{name(hand_off.by)} wants to hand off to {name(hand_off.to)}."
    for decision in ledger.decisions[-1:]:
        if decision.note:
            yield f"Your decision before could not be used: {names(decision.next)} had waited longest, and spoke."


def _participant_line(participant: LedgerParticipant, ledger: DecisionLedger, turn: TurnContext) -> str:
    who = participant.participant_id
    if participant.last_turn is None:
        return f"{name(who)}: no turn yet"
    parts = [f"{name(who)}: {_count(who, turn)}last turn {participant.last_turn}"]
    asked = next(
        ((made.round, text) for made in reversed(ledger.decisions) if (text := made.asked_of(who))), None
    )
    closed = next((closed for closed in reversed(ledger.turns) if closed.participant == who), None)
    outcome = _outcome(closed) if closed and closed.number == participant.last_turn else ""
    if asked:
        parts.append(
            f'asked in round {asked[0]} "{clean_line(asked[1], MAX_ASKED)}"'
            + (f", {outcome}" if outcome else "")
        )
    elif outcome:
        parts.append(outcome)
    return "; ".join(parts)


def _count(who: str, turn: TurnContext) -> str:
    """Return how many turns of a participant the orchestrator sees, if it sees all."""
    if not turn.position.is_whole:
        return ""
    count = len({message.turn_number for message in turn.messages if message.speaker == who})
    return f"{count} {'answer' if count == 1 else 'answers'}, " if count else ""


def _outcome(closed: LedgerTurn) -> str:
    words = {"message": "answered", "passed": "passed", "skipped": "failed", "failed": "failed"}
    word = words.get(closed.outcome, clean_line(closed.outcome, MAX_ASKED))
    return f"{word}: {clean_line(closed.error, MAX_ASKED)}" if closed.error else word


def _question(turn: TurnContext, /) -> str:
    if turn.expects is not Expects.DECISION:
        return any_question(turn)
    if turn.position.is_last or turn.position.is_last_round:
        return _PLAIN_LAST
    ids = enumerate_words([name(other) for other in _others(turn)], "or")
    return lines(
        *_plain_others(turn),
        f"Who speaks next: {ids}? Answer with one line: NEXT: and a name. "
        "If the task is answered, write DONE: and the answer.",
    )


_PLAIN_LAST = "This is the last decision. Write DONE: and the best answer to the task."


def _plain_others(turn: TurnContext) -> Iterator[str]:
    """Yield who the others are, if their ids do not say it: the dialog shows their display names."""
    for other in turn.roster:
        who = name(other.participant_id)
        facts = dict.fromkeys((label(other), name(other.role_id)))
        told = [fact for fact in facts if fact and fact.casefold() != who.casefold()]
        if told and other.participant_id != turn.me.participant_id:
            yield f"{who} is {', '.join(told)}."


TEXTS = ModeTexts(rules=_rules, form=_form, request=_request, question=_question)

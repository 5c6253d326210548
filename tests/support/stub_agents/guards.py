"""Callables that guards in tests name."""

from __future__ import annotations

import asyncio

from symposia.models.attachments import Attachment
from symposia.models.turns.turn import Decision, DraftMessage, Question, TurnContext, TurnOutcome


def polite(turn: TurnContext, outcome: TurnOutcome | None) -> str | None:
    said = "".join(draft.content for draft in outcome.messages) if outcome else ""
    return None if "please" in said else "must say please"


async def polite_later(turn: TurnContext, outcome: TurnOutcome | None) -> str | None:
    await asyncio.sleep(0)
    return polite(turn, outcome)


def broken(turn: TurnContext, outcome: TurnOutcome | None) -> str | None:
    raise LookupError("the list is missing")


def yes(turn: TurnContext, outcome: TurnOutcome | None) -> bool:
    return True


def first_turn(turn: TurnContext, outcome: TurnOutcome | None) -> str | None:
    return "must not begin" if turn.turn_number == 1 else None


def corrects(turn: TurnContext) -> str:
    """Agent: says please once it is told to."""
    return "the door, please" if "must say please" in turn.instruction else "the door"


def asks_ann(turn: TurnContext) -> TurnOutcome:
    """Agent: asks a person, in words that a guard holds, and then answers."""
    if turn.answers:
        return TurnOutcome.say(f"the {turn.answers[-1].text} door")
    draft = DraftMessage(content="what a mess")
    return TurnOutcome(messages=(draft,), question=Question(to="ann", text="which door?"))


def decides(turn: TurnContext) -> TurnOutcome:
    """Agent: has the word that a guard holds in its decision only."""
    decision = Decision(instruction="leave a mess")
    file = Attachment.of("plan.txt", "the plan")
    draft = DraftMessage(content="fine", attachments=(file,))
    return TurnOutcome(messages=(draft,), decision=decision, output={"doors": 2})


def attaches(turn: TurnContext) -> TurnOutcome:
    """Agent: has the word that a guard refuses in the name of its file."""
    return TurnOutcome.say("here it is", attachments=[Attachment.of("mess-plan.txt", "the plan")])


def says_more(turn: TurnContext) -> str:
    """Agent: says something longer when it is told how long its answer may be."""
    return "still too long a mess" if "must have at most" in turn.instruction else "what a mess"


def fails_to_correct(turn: TurnContext) -> str:
    """Agent: answers without the data of the session, and fails when it is asked for them."""
    if "a door" in turn.instruction:
        raise LookupError("no data")
    return "a door"

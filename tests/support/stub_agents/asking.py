"""Agents that ask people."""

from __future__ import annotations

from symposia.models.turns.turn import DraftMessage, TurnContext, TurnOutcome, Usage

SPENT = Usage(requests=1)


def careful(turn: TurnContext) -> TurnOutcome:
    """Ask first, then repeat the answer."""
    if not turn.answers:
        question = TurnOutcome.ask("ben", "May I delete it?", choices=("yes", "no"))
        return question.model_copy(
            update={"messages": (DraftMessage(content="I looked around."),), "usage": SPENT}
        )
    heard = turn.answers[-1]
    return TurnOutcome.say(f"{heard.by or 'nobody'} said {heard.text}", usage=SPENT)


def twice(turn: TurnContext) -> TurnOutcome:
    """Ask two questions, one after the other."""
    questions = ("May I delete it?", "May I delete the backup?")
    if len(turn.answers) < len(questions):
        return TurnOutcome.ask("ben", questions[len(turn.answers)])
    return TurnOutcome.say(", ".join(it.text for it in turn.answers))


def moody(turn: TurnContext) -> TurnOutcome:
    """Fails once after it has heard the answer."""
    if turn.attempt == 2:
        raise RuntimeError("a mood")
    return careful(turn)


def lost(_turn: TurnContext) -> TurnOutcome:
    """Ask a person who is not a participant."""
    return TurnOutcome.ask("zed", "Where am I?")


def endless(_turn: TurnContext) -> TurnOutcome:
    """Ask the same again after each answer."""
    return TurnOutcome.ask("ben", "And now?")


def in_text(turn: TurnContext) -> str:
    """Ask the person of the parameter `who` in plain text."""
    if turn.answers:
        return "Done."
    return f"I looked around.\nASK {turn.parameters['who']}: May I?"


def given(turn: TurnContext) -> TurnOutcome:
    """Ask ben the question of the parameters, then repeat the answer."""
    if turn.answers:
        return TurnOutcome.say(turn.answers[-1].text or "no answer")
    choices = tuple(turn.parameters.get("choices", ()))
    return TurnOutcome.ask("ben", str(turn.parameters["question"]), choices=choices)

"""Texts of one mode, and what the texts of all modes share."""

from __future__ import annotations

from collections.abc import Callable, Iterable, Sequence
from dataclasses import dataclass
from typing import Protocol

from ...protocol.collab import Participant
from ...text.tags import clean_line, escape_tags
from ...turns.turn import TurnContext

#: Maximum characters of a name in a text of the engine.
MAX_NAME = 60


class FormText(Protocol):
    """Function that returns a text for a participant that answers with or without a tool."""

    def __call__(self, turn: TurnContext, /, *, structured: bool) -> str:
        """Return the text."""


RulesText = Callable[[TurnContext], str]

LAST_TURN = "This is your last turn."
ONE_MORE = "You have one more turn after this one."
STANDS = "Your text stands as the result of the session."


def name(participant: str | None) -> str:
    """Return a participant id as a part of a line."""
    return clean_line(participant or "", MAX_NAME)


def label(participant: Participant) -> str:
    """Return the display name of a participant as a part of a line, or else its id."""
    return name(participant.display_name or participant.participant_id)


def names(participants: Iterable[str], last: str = "and") -> str:
    """Return participant ids as an enumeration."""
    return enumerate_words([name(participant) for participant in participants], last)


def enumerate_words(words: Sequence[str], last: str = "and") -> str:
    """Return words as an enumeration."""
    if len(words) < 2:
        return "".join(words)
    return f"{', '.join(words[:-1])} {last} {words[-1]}"


def turns(numbers: Sequence[int]) -> str:
    """Return turn numbers as an enumeration, such as `turns 3 and 4`."""
    word = "turn" if len(numbers) == 1 else "turns"
    return f"{word} {enumerate_words([str(number) for number in numbers])}"


def shown_turns(turn: TurnContext) -> frozenset[int]:
    """Return the numbers of the turns whose messages the participant is shown."""
    return frozenset(message.turn_number for message in turn.messages if message.turn_number is not None)


def indented(text: str) -> str:
    """Return a text whose lines but the first are indented, so that none looks like a line of the engine."""
    return "\n  ".join(text.splitlines())


def instruction_of(turn: TurnContext) -> str:
    """Return what others ask of the participant in this turn."""
    return escape_tags(turn.position.instruction.strip())


def sentences(*parts: str) -> str:
    """Return sentences as one paragraph; empty ones are left out."""
    return " ".join(part for part in parts if part)


def lines(*parts: str) -> str:
    """Return lines as one text; empty ones are left out."""
    return "\n".join(part for part in parts if part)


def turns_left(turn: TurnContext) -> str:
    """Return the sentence on the turns that follow, in a mode in which everybody has one turn in each round."""
    if turn.position.is_last:
        return LAST_TURN
    return {0: LAST_TURN, 1: ONE_MORE}.get(
        -1 if turn.position.rounds_after is None else turn.position.rounds_after, ""
    )


def _no_text(_turn: TurnContext, /) -> str:
    return ""


def _no_form(_turn: TurnContext, /, *, structured: bool) -> str:  # noqa: ARG001 - as in `FormText`
    return ""


def _any_request(turn: TurnContext, /, *, structured: bool) -> str:  # noqa: ARG001 - as in `FormText`
    return lines(instruction_of(turn) or "It is your turn.", turns_left(turn))


def any_question(turn: TurnContext, /) -> str:
    """Return the question of a turn for a small model: its instruction, or what it has to add."""
    return indented(turn.position.instruction.strip()) or "What do you add? If nothing, write PASS."


@dataclass(frozen=True, slots=True, kw_only=True)
class ModeTexts:
    """Texts of one mode."""

    #: Returns the rules of the mode, the same for every participant.
    rules: RulesText = _no_text
    #: Returns the form of the participant's answers, the same in every turn.
    form: FormText = _no_form
    #: Returns what is wanted in the turn.
    request: FormText = _any_request
    #: Returns the question of the turn for a small model.
    question: RulesText = any_question


#: Texts of a mode that has none of its own.
NO_TEXTS = ModeTexts()

"""The output that a session must have: its schema and its speaker, and its progress. Pure.

The turns in which the output is required:

- a turn after which the session certainly ends, such as the last one of `max_rounds`;
- the closing turn: it is planned when the session would end otherwise without an output.

In these turns the speaker is held to the schema. In its other turns the speaker may give the output, too, such
as an orchestrator in the decision that ends the session: then no closing turn is needed.
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Self

from pydantic import JsonValue

from ..turns.frozen import Frozen
from ..turns.turn import OutcomeKind, TurnOutcome, TurnResult
from .reading import read_json
from .schema import find_faults

NO_JSON = "$: neither the answer nor a block of code in it is JSON"


class RequiredOutput(Frozen):
    """The output that a session must have."""

    json_schema: dict[str, JsonValue]
    #: Participant id of its speaker; None: the speaker of the last turn.
    by: str | None = None

    def may_come_from(self, participant: str) -> bool:
        """Return whether a participant may give the output.

        Args:
            participant: Its id.
        """
        return self.by in (None, participant)

    def find_faults(self, value: JsonValue) -> tuple[str, ...]:
        """Return what is wrong with a value, one line each; empty: it is a valid output."""
        return find_faults(self.json_schema, value)

    def read(self, outcome: TurnOutcome) -> tuple[TurnOutcome, tuple[str, ...]]:
        """Return the outcome with its data, read from its text if it has none, and what is wrong with it."""
        if outcome.output is not None:
            return outcome, self.find_faults(outcome.output)
        try:
            value = read_json(outcome.messages[-1].content if outcome.messages else "")
        except ValueError:
            return outcome, (NO_JSON,)
        return outcome.model_copy(update={"output": value}), self.find_faults(value)


class SessionEnd(Frozen):
    """Reason of an end that waits for the closing turn."""

    reason: str
    detail: str = ""


class OutputProgress(Frozen):
    """Progress of the output of a session, stored with the state of its stop conditions."""

    #: Number of the turn that gave the output; None: there is none.
    turn: int | None = None
    #: Participant of the newest turn with a message.
    speaker: str | None = None
    #: Whether a turn in which the output is required was planned.
    required: bool = False
    #: Why the session ends after the closing turn; None: it was not planned.
    end: SessionEnd | None = None

    def after(self, results: Iterable[TurnResult], rule: RequiredOutput) -> Self:
        """Return the progress after these closed turns: a later message of the speaker replaces its output."""
        turn, speaker = self.turn, self.speaker
        for result in results:
            if result.kind is not OutcomeKind.MESSAGE:
                continue
            speaker = result.participant
            if result.has_output:
                turn = result.number
            elif rule.may_come_from(speaker):
                turn = None
        return self.model_copy(update={"turn": turn, "speaker": speaker})

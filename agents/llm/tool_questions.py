"""Questions of tool calls: a call that needs an answer from outside ends the attempt, and the turn is parked.

The next attempt finds the finished requests and tool calls in the call journal, and this call's answer in the turn.
"""

from __future__ import annotations

from ...models.turns.turn import GivenAnswer, Question, TurnContext, TurnOutcome, Usage


class AnswerNeeded(Exception):
    """A tool call needs the answer to a question, whose field `call` names this call."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.call)
        self.question = question

    def to_outcome(self, spent: Usage) -> TurnOutcome:
        """Return the outcome that parks the turn; `spent` is the usage of this attempt."""
        return TurnOutcome(question=self.question, usage=spent)


def find_answer(turn: TurnContext, call: str) -> GivenAnswer | None:
    """Return the answer to the question of a tool call; None: the question was not asked yet."""
    return next((given for given in turn.answers if given.question.call == call), None)


def was_followed(turn: TurnContext, call: str) -> bool:
    """Return whether another question was asked after that of a tool call.

    Then the call was over: such calls run alone, in their order. This is known even if the call journal, which is
    kept for a limited time and size, has lost its result.
    """
    asked = [given.question.call for given in turn.answers]
    return call in asked[:-1]


def without_tool_answers(turn: TurnContext) -> TurnContext:
    """Return the turn as the model sees it: it gets the answers of its tool calls as results of these calls."""
    if not any(given.question.call for given in turn.answers):
        return turn
    return turn.model_copy(update={"answers": tuple(it for it in turn.answers if not it.question.call)})

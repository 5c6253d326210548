"""Sessions as tools of model agents.

The first call of such a tool ends the attempt: the turn is parked until the sub-session has ended. The next attempt
finds the finished requests and tool calls in the call journal, and this call's answer in the turn.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai import RunContext, Tool

from ...models.turns.turn import Question, TurnContext, TurnOutcome, Usage
from .tools import ToolContext

if TYPE_CHECKING:
    from collections.abc import Mapping


class SessionNeeded(Exception):
    """A tool call needs the answer of a sub-session."""

    def __init__(self, question: Question) -> None:
        super().__init__(question.session)
        self.question = question

    def to_outcome(self, spent: Usage) -> TurnOutcome:
        """Return the outcome that parks the turn; `spent` is the usage of this attempt."""
        return TurnOutcome(question=self.question, usage=spent)


def session_tools(descriptions: Mapping[str, str]) -> list[Tool[ToolContext]]:
    """Return a tool for each session, by name."""
    return [_session_tool(name, description) for name, description in descriptions.items()]


def _session_tool(name: str, description: str) -> Tool[ToolContext]:
    async def ask(ctx: RunContext[ToolContext], text: str) -> str:
        call = ctx.deps.effect_id
        for given in ctx.deps.turn.answers:
            if given.question.call == call:
                return given.text or f"The session gave no answer: {given.error or 'it said nothing'}"
        raise SessionNeeded(Question(to=name, text=text, session=name, call=call))

    return Tool(ask, name=name, description=f"Ask a session of several participants. {description}")


def without_tool_answers(turn: TurnContext) -> TurnContext:
    """Return the turn as the model sees it: it gets the answers of its tool calls as results of these calls."""
    if not any(given.question.call for given in turn.answers):
        return turn
    return turn.model_copy(update={"answers": tuple(it for it in turn.answers if not it.question.call)})

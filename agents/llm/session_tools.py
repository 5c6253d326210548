"""Sessions as tools of model agents. The turn is parked until the sub-session has ended."""

from __future__ import annotations

from typing import TYPE_CHECKING

from pydantic_ai import RunContext, Tool

from ...models.turns.turn import Question
from .tool_questions import AnswerNeeded, find_answer
from .tools import ToolContext

if TYPE_CHECKING:
    from collections.abc import Mapping


def session_tools(descriptions: Mapping[str, str]) -> list[Tool[ToolContext]]:
    """Return a tool for each session, by name."""
    return [_session_tool(name, description) for name, description in descriptions.items()]


def _session_tool(name: str, description: str) -> Tool[ToolContext]:
    async def ask(ctx: RunContext[ToolContext], text: str) -> str:
        call = ctx.deps.effect_id
        given = find_answer(ctx.deps.turn, call)
        if given is None:
            raise AnswerNeeded(Question(to=name, text=text, session=name, call=call))
        return given.text or f"The session gave no answer: {given.error or 'it said nothing'}"

    # Alone: the end of the attempt would cancel another call while it runs, and the next attempt would repeat it.
    described = f"Ask a session of several participants. {description}"
    return Tool(ask, name=name, description=described, sequential=True)

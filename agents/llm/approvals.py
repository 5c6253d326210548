"""Approval of tool calls by a person, as the agents file declares.

The turn is parked with a question about the call. The approval holds for one call with exactly these arguments: its
id contains their fingerprint. Other answers, and no answer, refuse the call.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import replace
from typing import Any

from pydantic_ai import ToolDefinition
from pydantic_core import to_jsonable_python

from ...models.errors import AgentFailed
from ...models.sessions.recorded import scrub_data
from ...models.text.redact import json_text
from ...models.turns.turn import Question, TurnContext
from ...models.turns.waiting import VERDICTS, Verdict
from .tool_questions import AnswerNeeded, find_answer

#: Key in the metadata of a tool: True, or the name of the person who decides.
_APPROVAL = "symposia_approval"
#: Maximum characters of the arguments in a question; a call whose arguments are not shown is refused.
_MAX_ARGUMENTS = 20_000


def approval_metadata(approval: bool | str) -> dict[str, Any] | None:
    """Return the metadata of a tool; None: it needs no approval."""
    return {_APPROVAL: approval} if approval else None


def mark_tools(
    server: str, approval: bool | Sequence[str], tools: Sequence[ToolDefinition]
) -> list[ToolDefinition]:
    """Return the tools of an MCP server, with the marks of those that need an approval.

    Raises:
        AgentFailed: The server lacks a tool that needs an approval; its name may be misspelt.
    """
    wanted = {tool.name for tool in tools} if approval is True else set(approval or ())
    for name in sorted(wanted - {tool.name for tool in tools}):
        raise AgentFailed(f"mcp.{server}.approval: the server has no tool {name!r}", retryable=False)
    marks = {_APPROVAL: True}
    return [
        replace(tool, metadata={**(tool.metadata or {}), **marks}, sequential=True)
        if tool.name in wanted
        else tool
        for tool in tools
    ]


def needs_approval(tool: ToolDefinition) -> bool:
    """Return whether calls of a tool need an approval."""
    return bool((tool.metadata or {}).get(_APPROVAL))


def find_refusal(
    turn: TurnContext,
    tool: ToolDefinition,
    arguments: Mapping[str, Any],
    *,
    call: str,
    secrets: Sequence[str],
) -> str | None:
    """Return why a call is refused, as its result; None: it is approved, or needs no approval.

    Args:
        turn: The turn, with the answers to its earlier questions.
        tool: The tool.
        arguments: Arguments of the call.
        call: Id of the call, which is the same in every attempt of the turn.
        secrets: Texts that the question must not contain.

    Raises:
        AnswerNeeded: The call is not decided yet.
        AgentFailed: The session has no person to ask.
    """
    if not needs_approval(tool):
        return None
    given = find_answer(turn, call)
    if given is None:
        shown = json_text(scrub_data(to_jsonable_python(arguments, fallback=str), secrets), indent=2)
        if len(shown) > _MAX_ARGUMENTS:
            return f"refused: the arguments are too long to be shown ({len(shown)} of {_MAX_ARGUMENTS} characters)"
        raise AnswerNeeded(_question(turn, tool, shown, call=call))
    if Verdict.of(given.text) is Verdict.APPROVE:
        return None
    return f"refused by {given.by}" if given.by else "refused: no answer in time"


def _question(turn: TurnContext, tool: ToolDefinition, shown: str, *, call: str) -> Question:
    decider = (tool.metadata or {})[_APPROVAL]
    if decider is True and not turn.approvers:
        line = f"tool {tool.name!r} needs an approval, and the session has no approvers"
        raise AgentFailed(line, retryable=False)
    return Question(
        to=turn.approvers[0] if decider is True else decider,
        text=f"May the tool {tool.name!r} be called with these arguments?\n\n{shown}",
        choices=VERDICTS,
        tool=tool.name,
        call=call,
    )

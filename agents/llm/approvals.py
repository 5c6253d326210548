"""Tool calls that need an answer from outside: their questions, and the approval of a call by a person.

Such a call ends the attempt, and the turn is parked. The next attempt finds the finished requests and tool calls in the
call journal, and this call's answer in the turn.

An approval holds for one call with exactly these arguments: its id contains their fingerprint. Other answers, and no
answer, refuse the call. A later attempt of the turn is certain if the model asks for another approval. So each result
of an approved call is stored, also a request for a corrected call, and a note if the result cannot be stored.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, replace
from typing import Any

from pydantic_ai import ToolDefinition
from pydantic_ai.exceptions import ModelRetry, ToolRetryError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from ...models.errors import AgentFailed
from ...models.sessions.recorded import scrub_data
from ...models.text.redact import json_text
from ...models.turns.turn import GivenAnswer, Question, TurnContext, TurnOutcome, Usage
from ...models.turns.waiting import VERDICTS, Verdict
from ..agent import CallJournalPort, TurnServices


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
    return turn.model_copy(
        update={"answers": tuple(answer for answer in turn.answers if not answer.question.call)}
    )


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


#: Prefix of the journal keys of requests for a corrected call; the name of the call follows.
_RETRIES = "retry:"
#: Result of an approved call whose own result cannot be stored.
_NOT_STORED = "The tool was called. Its result is not JSON data, or is too large."
#: Result of an approved call that an earlier attempt has made.
_RESULT_LOST = "The tool was called before in this turn. Its result is lost, so it is not called again."


async def store_result(journal: CallJournalPort, name: str, result: object) -> object:
    """Store the result of a call and return it as JSON data.

    A result that is not JSON, such as a picture, is returned as it is: the next attempt repeats the call.
    """
    try:
        data = to_jsonable_python(result)
        text = json.dumps(data, ensure_ascii=False)
    except (PydanticSerializationError, ValueError, TypeError):
        return result
    await journal.store_answers({name: text})
    return data


@dataclass(frozen=True, slots=True)
class ApprovedCall:
    """A call of a tool that needs an approval.

    Args:
        services: Services of the turn.
        name: Name of the call in the call journal.
        secrets: Texts that a question must not contain.
    """

    services: TurnServices
    name: str
    secrets: Sequence[str]

    async def execute(
        self,
        turn: TurnContext,
        effect_id: str,
        tool: ToolDefinition,
        arguments: dict[str, Any],
        handler: Callable[[dict[str, Any]], Awaitable[Any]],
    ) -> object:
        """Run the call if it is approved; return its result, or that it was refused.

        Raises:
            AnswerNeeded: The call is not decided yet.
            AgentFailed: The session has no person to ask, or another worker has the turn.
        """
        journal = self.services.journal
        if (correction := journal.get_answer(_RETRIES + self.name)) is not None:
            if self.services.observer is not None:
                self.services.observer.observe_tool_retry(self.name, correction)
            raise ModelRetry(correction)
        refusal = find_refusal(turn, tool, arguments, call=effect_id, secrets=self.secrets)
        if refusal is None and was_followed(turn, effect_id):
            refusal = _RESULT_LOST
        if refusal is not None:
            return await store_result(journal, self.name, refusal)
        # A frozen worker may have lost the turn, and find out too late.
        if self.services.confirm_turn is not None:
            await self.services.confirm_turn()
        try:
            result = await handler(arguments)
        except ToolRetryError as error:
            await journal.store_answers({_RETRIES + self.name: _text_of(error)})
            raise
        data = await store_result(journal, self.name, result)
        if journal.get_answer(self.name) is None:
            return await store_result(journal, self.name, _NOT_STORED)
        return data


def _text_of(error: ToolRetryError) -> str:
    content = error.tool_retry.content
    return content if isinstance(content, str) else json.dumps(to_jsonable_python(content, fallback=str))

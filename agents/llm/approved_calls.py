"""Execution of tool calls, with their results in the call journal; calls that need an approval run once.

A later attempt of the turn is certain if the model asks for another approval. So each result of an approved call is
stored, also a request for a corrected call, and a note if the result cannot be stored.
"""

from __future__ import annotations

import json
from collections.abc import Awaitable, Callable, Sequence
from dataclasses import dataclass
from typing import Any

from pydantic_ai import ToolDefinition
from pydantic_ai.exceptions import ModelRetry, ToolRetryError
from pydantic_core import PydanticSerializationError, to_jsonable_python

from ..agent import CallJournalPort, TurnServices
from .approvals import find_refusal
from .tool_questions import was_followed
from .tools import ToolContext

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
        context: ToolContext,
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
        call, secrets = context.effect_id, self.secrets
        refusal = find_refusal(context.turn, tool, arguments, call=call, secrets=secrets)
        if refusal is None and was_followed(context.turn, call):
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

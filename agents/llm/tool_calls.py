"""Tool calls of one model run: each is made once per turn, reported, and stopped when the model repeats it.

A call that was made twice is not made again while the model learns nothing new: its third request gets a note instead
of a result, the fourth turns the tools off for this turn. Another call that was not made before counts as something
new, so that tests may be run after each of several edits.
"""

from __future__ import annotations

import json
import time
from collections import Counter
from collections.abc import AsyncIterator, Iterator, Sequence
from contextlib import asynccontextmanager, contextmanager
from dataclasses import dataclass, field
from typing import Any

from pydantic_ai import RunContext, ToolDefinition
from pydantic_ai.exceptions import ModelRetry, ToolRetryError
from pydantic_ai.messages import BinaryContent, ToolCallPart
from pydantic_core import PydanticSerializationError, to_jsonable_python

from ...models.errors import AgentFailed
from ...models.sessions.recorded import scrub_data
from ...models.text.json_text import dump_json
from ...models.text.redact import clean_data, clean_text
from ...models.turns.streaming import ToolStatus, shorten_arguments
from ...models.turns.tool_uses import ToolUse
from ..agent import TurnServices
from .approvals import AnswerNeeded, ApprovedCall, needs_approval, store_result
from .call_names import TOOLS, fingerprint, mark_replayed
from .tool_failures import FAILED, Handler, ToolFailure, reporting_failures
from .tools import ToolContext, use_effect_id

#: Calls with the same arguments that are made in a row.
MAX_REPEATS = 2
#: Requests for a tool after the tools were turned off, before the attempt fails.
MAX_REFUSALS = 2
REPEATED = "You made this call twice; its result is above. Use it or do something else."
TOOLS_OFF = "Tools are off for the rest of this turn. Answer with what you have."


@dataclass
class ToolCalls:
    """Tool calls of one run.

    Args:
        services: Services of the turn.
        secrets: Texts that reports, questions and results of failed calls must not contain.
    """

    services: TurnServices
    secrets: Sequence[str] = ()
    #: Number of calls by their name and arguments: part of their names in the journal.
    _counts: Counter[str] = field(default_factory=Counter)
    #: The same, since the last call that was not made before.
    _repeats: Counter[str] = field(default_factory=Counter)
    #: Number of the first of several failed calls, by their name and arguments.
    _failed: dict[str, str] = field(default_factory=dict)
    _refusals: int = 0
    are_off: bool = False
    #: Calls with their results, in the order of their ends, without secrets.
    uses: list[ToolUse] = field(default_factory=list)

    async def execute(
        self,
        ctx: RunContext[ToolContext],
        call: ToolCallPart,
        tool: ToolDefinition,
        args: dict[str, Any],
        handler: Handler,
    ) -> Any:
        """Return the result of a call: from the journal, from the tool, or a note that the call is not made.

        Raises:
            AnswerNeeded: The call needs an approval.
            AgentFailed: The session has no person who may approve it, or the model does not stop to call tools.
        """
        try:
            result = await self._execute(ctx, tool, args, handler)
        except (ToolRetryError, ModelRetry) as error:
            correction = error.message if isinstance(error, ModelRetry) else error.tool_retry.content
            self._keep_use(ctx, call, args, correction)
            raise
        self._keep_use(ctx, call, args, result)
        return result

    def _keep_use(
        self, ctx: RunContext[ToolContext], call: ToolCallPart, args: dict[str, Any], result: object
    ) -> None:
        """Keep a call for later turns of the agent."""
        data = scrub_data(_json_data(result), self.secrets)
        use = ToolUse(
            call_id=call.tool_call_id,
            name=call.tool_name,
            arguments=clean_data(scrub_data(to_jsonable_python(args, fallback=str), self.secrets)),
            result=clean_text(data if isinstance(data, str) else dump_json(data)),
            step=ctx.run_step,
        )
        self.uses.append(use)

    async def _execute(
        self, ctx: RunContext[ToolContext], tool: ToolDefinition, args: dict[str, Any], handler: Handler
    ) -> Any:
        call_key = fingerprint(tool.name, to_jsonable_python(args, fallback=str))
        self._counts[call_key] += 1
        number = f"{call_key}:{self._counts[call_key]}"
        note = self._note(call_key)
        self._observe(TOOLS + number, tool.name, args)
        text = self.services.journal.get_answer(TOOLS + number)
        if text is not None:
            mark_replayed()
            result = json.loads(text)
        elif note is not None:
            result = await store_result(self.services.journal, TOOLS + number, note)
        else:
            result = await self._call(ctx, call_key, number, tool, args, handler)
        if isinstance(result, str) and result.startswith(FAILED):
            self._failed.setdefault(call_key, number)
        elif note is None:
            self._failed.pop(call_key, None)
        return result

    async def _call(
        self,
        ctx: RunContext[ToolContext],
        call_key: str,
        number: str,
        tool: ToolDefinition,
        args: dict[str, Any],
        handler: Handler,
    ) -> Any:
        # A failed call may have had its effect: the same call has the same effect id, except after a new approval.
        effect = number if needs_approval(tool) else self._failed.get(call_key, number)
        try:
            with use_effect_id(f"{ctx.deps.turn.effect_id}:{tool.name}:{effect}"):
                async with self._reporting(number, tool.name, args):
                    return await self._run(ctx, number, tool, args, handler)
        except ToolFailure as failure:
            return await store_result(self.services.journal, TOOLS + number, str(failure))

    def _note(self, call_key: str) -> str | None:
        """Count a call, and return what the model gets instead of its result; None: the call is made."""
        if self.are_off:
            self._refusals += 1
            if self._refusals > MAX_REFUSALS:
                raise AgentFailed("the model repeats its tool calls and gives no answer", retryable=False)
            return TOOLS_OFF
        if self._counts[call_key] == 1:
            self._repeats.clear()
        self._repeats[call_key] += 1
        if self._repeats[call_key] <= MAX_REPEATS:
            return None
        self.are_off = self._repeats[call_key] > MAX_REPEATS + 1
        return TOOLS_OFF if self.are_off else REPEATED

    async def _run(
        self,
        ctx: RunContext[ToolContext],
        number: str,
        tool: ToolDefinition,
        args: dict[str, Any],
        handler: Handler,
    ) -> Any:
        call, journal = TOOLS + number, self.services.journal
        run = reporting_failures(handler, tool, self.secrets)
        with self._observing_retry(call):
            if needs_approval(tool):
                approved = ApprovedCall(self.services, call, self.secrets)
                return await approved.execute(ctx.deps.turn, ctx.deps.effect_id, tool, args, run)
            return await store_result(journal, call, await run(args))

    @asynccontextmanager
    async def _reporting(self, call: str, tool: str, args: dict[str, Any]) -> AsyncIterator[None]:
        """Report the begin and the end of a tool call to the listener, if there is one."""
        listener = self.services.tool_listener
        if listener is None:
            yield
            return
        shown = shorten_arguments(to_jsonable_python(args, fallback=str), self.secrets)
        began, status = time.monotonic(), ToolStatus.ERROR
        await listener.report_tool(call, tool, shown, status=ToolStatus.RUNNING)
        try:
            yield
            status = ToolStatus.OK
        except (ToolRetryError, ModelRetry):
            status = ToolStatus.RETRY
            raise
        except AnswerNeeded:
            status = ToolStatus.WAITING
            raise
        finally:
            took_ms = round((time.monotonic() - began) * 1000)
            await listener.report_tool(call, tool, shown, status=status, duration_ms=took_ms)

    def _observe(self, call: str, tool: str, args: dict[str, Any]) -> None:
        if self.services.observer is None:
            return
        arguments = to_jsonable_python(args, fallback=str)
        retry = self.services.observer.observe_tool_call(call, tool, arguments)
        if retry is not None:
            raise ModelRetry(retry)

    @contextmanager
    def _observing_retry(self, call: str) -> Iterator[None]:
        """Pass on that a tool asks for a corrected call."""
        try:
            yield
        except ToolRetryError as error:
            if self.services.observer is not None and isinstance(error.__cause__, ModelRetry):
                self.services.observer.observe_tool_retry(call, error.__cause__.message)
            raise


def _json_data(result: object) -> Any:
    """Return a result as JSON data; the name of its type if it is not, such as a picture."""
    if isinstance(result, BinaryContent):
        return f"[{result.media_type}]"
    try:
        return to_jsonable_python(result)
    except (PydanticSerializationError, ValueError, TypeError):
        return f"[{type(result).__name__}]"

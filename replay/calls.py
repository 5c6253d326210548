"""Call journal of a replayed turn: it answers from the record, and refuses calls that the record does not have."""

from __future__ import annotations

from collections import deque
from collections.abc import Mapping, Sequence
from typing import NoReturn

from pydantic import JsonValue

from ..models.errors import AgentFailed
from ..models.sessions.recorded import (
    ModelPrompt,
    RecordedAsk,
    RecordedRequest,
    RecordedTool,
    scrub_data,
)
from ..models.text.json_text import dump_json
from .differences import request_differences, value_difference


class ReplayedCalls:
    """Call journal and call observer of one replayed call of an agent.

    Requests are compared in their order, tool calls by their name and arguments.

    Args:
        record: The recorded call.
        secrets: Texts that the record does not contain.
    """

    def __init__(self, record: RecordedAsk, secrets: Sequence[str]) -> None:
        self._record = record
        self._secrets = tuple(secrets)
        self._requests = deque(record.requests)
        self._tools: tuple[RecordedTool, ...] = ()
        self._tool_calls = {tool_call.call: tool_call for tool_call in record.tool_calls}
        self._answers: dict[str, str] = {}
        #: Number of requests and of tool calls that were answered.
        self.answered_requests = self.answered_tool_calls = 0
        #: The first differences; empty: none.
        self.differences: tuple[str, ...] = ()

    @property
    def tools(self) -> tuple[RecordedTool, ...]:
        """Return all tools of the record, each once."""
        tools_by_name = {tool.name: tool for request in self._record.requests for tool in request.tools or ()}
        return tuple(tools_by_name.values())

    def missing_calls(self) -> tuple[str, ...]:
        """Return a line if the replay has made fewer calls than the record has."""
        lines = []
        if self._requests:
            lines.append(
                value_difference("model requests", len(self._record.requests), self.answered_requests)
            )
        if self._tool_calls:
            names = ", ".join(sorted({tool_call.tool for tool_call in self._tool_calls.values()}))
            lines.append(f"tool calls: {names} is called in the record, and not now")
        return tuple(lines)

    # -- journal ---------------------------------------------------------------------------

    def get_answer(self, call: str) -> str | None:
        """As in CallJournalPort."""
        return self._answers.get(call)

    async def store_answers(self, answers: Mapping[str, str]) -> None:
        """Store nothing: a replay has no answers of its own."""

    async def delete_answers(self, kind: str) -> None:
        """Delete nothing."""

    # -- observer --------------------------------------------------------------------------

    def hide_secrets(self, secrets: Sequence[str]) -> None:
        """As in CallObserver."""
        self._secrets = (*secrets, *self._secrets)

    def observe_request(self, call: str, prompt: ModelPrompt) -> None:
        """Compare a request with the next one of the record.

        Raises:
            AgentFailed: They differ, or the record has no answer.
        """
        number = self.answered_requests + 1
        if not self._requests:
            self._refuse(f"model request {number}: the record has {len(self._record.requests)}")
        recorded = self._requests.popleft()
        if recorded.tools is not None:
            self._tools = recorded.tools
        now = RecordedRequest.build(call, prompt, self._secrets)
        if differences := tuple(request_differences(recorded, now, recorded_tools=self._tools)):
            self._refuse(*differences)
        if recorded.answer is None:
            self._refuse(f"model request {number}: its answer is not in the record")
        self._answers[call] = dump_json(recorded.answer)
        self.answered_requests += 1

    def observe_tool_call(self, call: str, tool: str, arguments: JsonValue) -> str | None:
        """Find a tool call in the record; return what the tool asked the model to correct, if it did.

        Raises:
            AgentFailed: The record does not have the call or its result.
        """
        recorded = self._tool_calls.pop(call, None)
        if recorded is None:
            self._refuse(self._unknown_call(tool, arguments))
        if recorded.retry is not None:
            self.answered_tool_calls += 1
            return recorded.retry
        if not recorded.has_answer:
            self._refuse(f"tool {tool!r}: its result is not in the record (it is not JSON, or too large)")
        self._answers[call] = dump_json(recorded.answer)
        self.answered_tool_calls += 1
        return None

    def observe_tool_retry(self, call: str, message: str) -> None:
        """Ignore it: no tool runs."""

    def _unknown_call(self, tool: str, arguments: JsonValue) -> str:
        left = next((tool_call for tool_call in self._tool_calls.values() if tool_call.tool == tool), None)
        if left is None:
            return f"tool {tool!r}: the record has no such call"
        now = scrub_data(arguments, self._secrets)
        return value_difference(f"arguments of tool {tool!r}", left.arguments, now)

    def _refuse(self, *differences: str) -> NoReturn:
        self.differences = self.differences or differences
        raise AgentFailed(differences[0], retryable=False)

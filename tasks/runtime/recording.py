"""Recorder of one attempt of a turn, in a session that records its calls."""

from __future__ import annotations

from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel, JsonValue

from ...agents.agent import CallJournalPort, NoteStore
from ...models.protocol.dialog import message_digest
from ...models.sessions.options import AgentBinding
from ...models.sessions.plan import PlannedTurn
from ...models.sessions.recorded import (
    ModelPrompt,
    RecordedAsk,
    RecordedRequest,
    RecordedTool,
    RecordedToolCall,
    RecordedTurn,
    SeenMessages,
    scrub_data,
)
from ...models.text.json_text import parse_json
from ...models.turns.turn import TurnContext, TurnOutcome, TurnResult

M = TypeVar("M", bound=BaseModel)


@dataclass(slots=True)
class _Ask:
    """One call of the agent, until its record is built."""

    context: TurnContext
    note: str | None = None
    requests: list[RecordedRequest] = field(default_factory=list)
    tool_calls: list[RecordedToolCall] = field(default_factory=list)
    #: Tools of the newest request; None: there was none.
    tools: tuple[RecordedTool, ...] | None = None
    outcome: TurnOutcome | None = None


@dataclass(slots=True)
class TurnRecorder:
    """Observer of the calls of one attempt.

    Args:
        secrets: Texts that a record must not contain.
    """

    secrets: tuple[str, ...]
    _binding: AgentBinding | None = field(default=None, init=False)
    _asks: list[_Ask] = field(default_factory=list, init=False)

    def wrap(
        self, binding: AgentBinding, ask: Callable[[TurnContext], TurnOutcome]
    ) -> Callable[[TurnContext], TurnOutcome]:
        """Return a function that calls the agent of `binding` with `ask`, and records it."""
        self._binding = binding

        def recorded(context: TurnContext) -> TurnOutcome:
            self._asks.append(_Ask(context))
            outcome = ask(context)
            self._asks[-1].outcome = outcome
            return outcome

        return recorded

    def record_notes(self, notes: NoteStore) -> NoteStore:
        """Return the store of the agent's note; the note that the agent reads is recorded."""
        return _RecordedNotes(notes, self)

    def keep_note(self, note: str | None) -> None:
        """Record the note that the agent has read."""
        self._asks[-1].note = note

    def hide_secrets(self, secrets: Sequence[str]) -> None:
        """As in CallObserver."""
        self.secrets = (*secrets, *self.secrets)

    def observe_request(self, call: str, prompt: ModelPrompt) -> None:
        """As in CallObserver."""
        ask, request = self._asks[-1], RecordedRequest.build(call, prompt, self.secrets)
        is_known = request.tools == ask.tools
        ask.tools = request.tools
        ask.requests.append(request.model_copy(update={"tools": None}) if is_known else request)

    def observe_tool_call(self, call: str, tool: str, arguments: JsonValue) -> None:
        """As in CallObserver."""
        self._asks[-1].tool_calls.append(
            RecordedToolCall(call=call, tool=tool, arguments=scrub_data(arguments, self.secrets))
        )

    def observe_tool_retry(self, call: str, message: str) -> None:
        """As in CallObserver."""
        ask, retry = self._asks[-1], scrub_data(message, self.secrets)
        ask.tool_calls = [
            tool_call.model_copy(update={"retry": retry}) if tool_call.call == call else tool_call
            for tool_call in ask.tool_calls
        ]

    def build(
        self,
        planned: PlannedTurn,
        *,
        token: str,
        binding: AgentBinding,
        result: TurnResult,
        journal: CallJournalPort | None,
    ) -> RecordedTurn:
        """Return the record of the turn.

        Args:
            planned: The turn as it was planned.
            token: Token of the grant.
            binding: The agent of the turn, if none was called.
            result: The result of the turn.
            journal: The finished calls of the turn; None: there are none.
        """
        return RecordedTurn(
            number=result.number,
            token=token,
            binding=self._scrub(self._binding or binding),
            planned=self._scrub(planned),
            asks=tuple(self._build_ask(ask, journal) for ask in self._asks),
            result=self._scrub(result),
        )

    def _build_ask(self, ask: _Ask, journal: CallJournalPort | None) -> RecordedAsk:
        data = ask.context.model_dump(mode="json", exclude={"messages"}, exclude_defaults=True)
        return RecordedAsk(
            context=scrub_data(data, self.secrets),
            seen=_seen_by(ask.context),
            note=ask.note and scrub_data(ask.note, self.secrets),
            requests=tuple(self._with_answer(request, journal) for request in ask.requests),
            tool_calls=tuple(self._with_result(tool_call, journal) for tool_call in ask.tool_calls),
            outcome=ask.outcome and self._scrub(ask.outcome),
        )

    def _scrub(self, value: M) -> M:
        data = value.model_dump(mode="json", exclude_defaults=True)
        return type(value).model_validate(scrub_data(data, self.secrets))

    def _with_answer(self, request: RecordedRequest, journal: CallJournalPort | None) -> RecordedRequest:
        text = journal.get_answer(request.call) if journal is not None else None
        if text is None:
            return request
        return request.model_copy(update={"answer": scrub_data(parse_json(text), self.secrets)})

    def _with_result(self, call: RecordedToolCall, journal: CallJournalPort | None) -> RecordedToolCall:
        text = journal.get_answer(call.call) if journal is not None else None
        if text is None:
            return call
        answer = scrub_data(parse_json(text), self.secrets)
        return call.model_copy(update={"answer": answer, "has_answer": True})


def _seen_by(context: TurnContext) -> SeenMessages:
    newest = message_digest(context.messages[-1]) if context.messages else ""
    return SeenMessages(count=len(context.messages), newest=newest)


@dataclass(frozen=True, slots=True)
class _RecordedNotes:
    """Note store that passes the note to a recorder when the agent reads it."""

    notes: NoteStore
    recorder: TurnRecorder

    async def read_note(self) -> str | None:
        note = await self.notes.read_note()
        self.recorder.keep_note(note)
        return note

    async def write_note(self, note: str) -> None:
        await self.notes.write_note(note)

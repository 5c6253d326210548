"""Recorder of one attempt of a turn, in a session that records its calls."""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import TypeVar

from pydantic import BaseModel, JsonValue

from ...agents.agent import CallJournalPort, NoteStore
from ...models.protocol.dialog import message_digest
from ...models.sessions.options import AgentBinding
from ...models.sessions.plan import PlannedTurn
from ...models.sessions.recorded import (
    ModelPrompt,
    RecordedRequest,
    RecordedToolCall,
    RecordedTurn,
    SeenMessages,
    scrub_data,
)
from ...models.text.json_text import parse_json
from ...models.turns.turn import TurnContext, TurnOutcome, TurnResult

M = TypeVar("M", bound=BaseModel)


@dataclass(slots=True)
class TurnRecorder:
    """Observer of the calls of one attempt.

    Args:
        secrets: Texts that a record must not contain.
    """

    secrets: tuple[str, ...]
    _given: tuple[AgentBinding, TurnContext] | None = field(default=None, init=False)
    _note: str | None = field(default=None, init=False)
    _requests: list[RecordedRequest] = field(default_factory=list, init=False)
    _tool_calls: list[RecordedToolCall] = field(default_factory=list, init=False)

    def begin(self, binding: AgentBinding, context: TurnContext) -> None:
        """Record which agent is asked, and what it is given."""
        self._given = binding, context

    def record_notes(self, notes: NoteStore) -> NoteStore:
        """Return the store of the agent's note; the note that the agent reads is recorded."""
        return _RecordedNotes(notes, self)

    def keep_note(self, note: str | None) -> None:
        """Record the note that the agent has read."""
        self._note = note

    def hide_secrets(self, secrets: Sequence[str]) -> None:
        """As in CallObserver."""
        self.secrets = (*secrets, *self.secrets)

    def observe_request(self, call: str, prompt: ModelPrompt) -> None:
        """As in CallObserver."""
        request = RecordedRequest.build(call, prompt, self.secrets)
        known = next((it.tools for it in reversed(self._requests) if it.tools is not None), None)
        self._requests.append(
            request.model_copy(update={"tools": None}) if request.tools == known else request
        )

    def observe_tool_call(self, call: str, tool: str, arguments: JsonValue) -> None:
        """As in CallObserver."""
        self._tool_calls.append(
            RecordedToolCall(call=call, tool=tool, arguments=scrub_data(arguments, self.secrets))
        )

    def observe_tool_retry(self, call: str, message: str) -> None:
        """As in CallObserver."""
        retry = scrub_data(message, self.secrets)
        self._tool_calls = [
            it.model_copy(update={"retry": retry}) if it.call == call else it for it in self._tool_calls
        ]

    def build(
        self,
        planned: PlannedTurn,
        *,
        token: str,
        binding: AgentBinding,
        result: TurnResult,
        outcome: TurnOutcome,
        journal: CallJournalPort | None,
    ) -> RecordedTurn:
        """Return the record of the turn.

        Args:
            planned: The turn as it was planned.
            token: Token of the grant.
            binding: The agent of the turn, if none was asked.
            result: The result of the turn.
            outcome: The outcome that is written.
            journal: The finished calls of the turn; None: there are none.
        """
        binding, context = self._given or (binding, None)
        return RecordedTurn(
            number=result.number,
            token=token,
            binding=self._scrubbed(binding),
            planned=self._scrubbed(planned),
            context=None if context is None else self._context_data(context),
            seen=SeenMessages() if context is None else seen_of(context),
            note=self._note and scrub_data(self._note, self.secrets),
            requests=tuple(self._with_answer(it, journal) for it in self._requests),
            tool_calls=tuple(self._with_result(it, journal) for it in self._tool_calls),
            outcome=self._scrubbed(outcome),
            result=self._scrubbed(result),
        )

    def _scrubbed(self, value: M) -> M:
        data = value.model_dump(mode="json", exclude_defaults=True)
        return type(value).model_validate(scrub_data(data, self.secrets))

    def _context_data(self, context: TurnContext) -> dict[str, JsonValue]:
        data = context.model_dump(mode="json", exclude={"messages"}, exclude_defaults=True)
        scrubbed: dict[str, JsonValue] = scrub_data(data, self.secrets)
        return scrubbed

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


def seen_of(context: TurnContext) -> SeenMessages:
    """Return which messages of the dialog a turn sees."""
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

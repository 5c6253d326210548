"""The protocols of an agent, and the services that it may use during a turn.

An agent gets a `TurnContext` and returns a `TurnOutcome`. It keeps no state between turns: the same agent
object may answer for several sessions at once, and the next turn may run in another process.

    class Polite:
        async def speak(self, turn: TurnContext) -> TurnOutcome:
            return TurnOutcome.say(f"Thank you all, says {turn.me.participant_id}.")

An agent reports a failure by raising `AgentFailed`, whose `retryable` says whether a retry may succeed. Any
other exception counts as a failure that may be retried. The agent need not check the time: the runner
cancels it at the deadline of the turn.

A turn's context is data and the same for all agents. Agents with expensive or slow turns
also need services: to store paid results in case their worker dies, to keep a note for
their next turn, to stream their output. All services are ports: the caller of the agent
connects them, and an agent works without them.

Source: Collab module, section 5 (participants take turns).
"""

from __future__ import annotations

from collections.abc import Awaitable, Callable, Mapping, Sequence
from dataclasses import dataclass, field
from typing import Protocol

from pydantic import JsonValue

from ..models.sessions.recorded import ModelPrompt, RecordedTool
from ..models.turns.streaming import OutputListener, ToolStatus
from ..models.turns.turn import TurnContext, TurnOutcome

#: Prefix of the journal keys of usage: the usage of one attempt so far, a `Usage` as JSON.
USAGE_KEY_PREFIX = "spent:"


class CallJournalPort(Protocol):
    """Call journal of one turn: answers of its finished calls, by the name of the call.

    It is deleted when the turn is written. The next attempt of a turn whose worker died finds the answers
    of the earlier attempts.
    """

    def get_answer(self, call: str) -> str | None:
        """Return the stored answer of a call; None: it has not finished yet."""
        ...

    async def store_answers(self, answers: Mapping[str, str]) -> None:
        """Store answers by the names of their calls; then they outlive the process. Never raises."""
        ...

    async def delete_answers(self, kind: str) -> None:
        """Delete the answers of all calls whose name begins with `kind`. Never raises."""
        ...


class NoteStore(Protocol):
    """Note of an agent for one participant, kept between the turns of a session."""

    async def read_note(self) -> str | None:
        """Return the note; None: there is none. Never raises."""
        ...

    async def write_note(self, note: str) -> None:
        """Replace the note. Never raises."""
        ...


class RateLimiterPort(Protocol):
    """Rate limits of the providers of models, shared by all callers."""

    async def acquire_request(self, model: str) -> float | None:
        """Count a request to a model of the registry, if its rate limit allows one more.

        Waits for a moment if that is enough. Never raises.

        Returns:
            None: the request is counted. Otherwise seconds until the limit allows it; nothing is counted.
        """
        ...


class ReviewFilesPort(Protocol):
    """Files of reviewed projects that models may read."""

    async def read_file(self, batch_id: str, item: int, path: str) -> str | None:
        """Return the text of a file for an item of a batch; None: there is none. Never raises."""
        ...


class CallObserver(Protocol):
    """Observer of the model requests and tool calls of a turn: it records them, or compares them with a record."""

    def hide_secrets(self, secrets: Sequence[str]) -> None:
        """Remove these texts from everything that is observed later."""
        ...

    def observe_request(self, call: str, prompt: ModelPrompt) -> None:
        """Observe a request before it is answered, from the journal or by the model.

        Raises:
            AgentError: The request differs from the recorded one.
        """
        ...

    def observe_tool_call(self, call: str, tool: str, arguments: JsonValue) -> str | None:
        """Observe a tool call before it is answered, from the journal or by the tool.

        Returns:
            What the tool asked the model to correct, in a replay; None otherwise.

        Raises:
            AgentError: The call differs from the recorded one.
        """
        ...

    def observe_tool_retry(self, call: str, message: str) -> None:
        """Observe that the tool of a call asks the model to correct the call."""
        ...


class ToolListener(Protocol):
    """Listener of the tool calls of a turn."""

    async def report_tool(
        self, call: str, tool: str, arguments: str, *, status: ToolStatus, duration_ms: int | None = None
    ) -> None:
        """Report the begin or the end of a call; never raises if the report cannot be written."""
        ...


class InMemoryCallJournal:
    """Call journal in memory, for turns that no other process repeats."""

    def __init__(self) -> None:
        self.calls: dict[str, str] = {}

    def get_answer(self, call: str) -> str | None:
        """As in CallJournalPort."""
        return self.calls.get(call)

    async def store_answers(self, answers: Mapping[str, str]) -> None:
        """As in CallJournalPort."""
        self.calls |= answers

    async def delete_answers(self, kind: str) -> None:
        """As in CallJournalPort."""
        self.calls = {call: answer for call, answer in self.calls.items() if not call.startswith(kind)}


class InMemoryNotes:
    """Note in memory, kept as long as this object."""

    def __init__(self) -> None:
        self.note: str | None = None

    async def read_note(self) -> str | None:
        """As in NoteStore."""
        return self.note

    async def write_note(self, note: str) -> None:
        """As in NoteStore."""
        self.note = note


@dataclass(frozen=True, slots=True)
class TurnServices:
    """Services of one turn: call journal, note, listener of the output, rate limiter, files of a review."""

    journal: CallJournalPort = field(default_factory=InMemoryCallJournal)
    #: Listener of the output; None: no listener.
    listener: OutputListener | None = None
    notes: NoteStore = field(default_factory=InMemoryNotes)
    #: Rate limiter, checked before a fallback model is used; None: no limit.
    rate_limiter: RateLimiterPort | None = None
    #: Listener of the tool calls; None: no listener.
    tool_listener: ToolListener | None = None
    #: Files of the reviewed project; None: no file can be read.
    review_files: ReviewFilesPort | None = None
    #: Journal key under which an agent stores the total usage of this attempt.
    usage_key: str = USAGE_KEY_PREFIX
    #: pydantic-ai's settings for the traces of model requests and tool calls; None: they are not traced.
    instrumentation: object = None
    #: Observer of the calls; None: they are not recorded.
    observer: CallObserver | None = None
    #: Check that no other worker has the turn by now, before a call that must not be made twice. It raises
    #: AgentFailed. None: there are no other workers.
    confirm_turn: Callable[[], Awaitable[None]] | None = None
    #: In a replay, the recorded tools: no model is requested and no tool is called. None: no replay.
    replayed_tools: tuple[RecordedTool, ...] | None = None


class Agent(Protocol):
    """An agent that takes turns asynchronously; it must not block the event loop."""

    async def speak(self, turn: TurnContext) -> TurnOutcome:
        """Take the turn."""
        ...


class AgentWithServices(Protocol):
    """An agent that also uses the services of its turn."""

    async def speak_with_services(self, turn: TurnContext, turn_services: TurnServices) -> TurnOutcome:
        """Take the turn."""
        ...


class BatchAgent(Protocol):
    """An agent whose questions may name a provider's batch: the turn is parked until the batch has ended."""

    async def has_batch_ended(self, handle: str) -> bool:
        """Return whether the batch of a question has ended. Raises AgentError."""
        ...

    async def cancel_batch(self, handle: str) -> None:
        """Cancel the batch of a question, as far as the provider allows. Raises AgentError."""
        ...


class InstantAgent(Protocol):
    """An agent that answers from memory, in much less than a millisecond.

    It is called in the thread of the turn, without the event loop and without a deadline: it must not wait
    for anything.
    """

    def speak_now(self, turn: TurnContext) -> TurnOutcome:
        """Take the turn at once."""
        ...


AnyAgent = Agent | AgentWithServices | InstantAgent

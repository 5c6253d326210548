"""Runner of an agent's turn, for any worker thread: deadline, cancellation, validation of the answer, errors.

Instant agents are called in the calling thread. All others run on the only event loop of the process
(`threads.py`), and the calling thread waits for them. The waiting thread checks the deadline, so it also
applies to an agent that ignores its cancellation or blocks the loop.

A valid answer is a turn outcome, not empty, and within the size limit.
"""

from __future__ import annotations

from collections.abc import Callable, Coroutine, Iterable
from concurrent.futures import CancelledError, Future
from typing import Any, Protocol, TypeVar, cast

from pydantic import ValidationError

from ...models.attachments import AttachmentReader, reading_with
from ...models.errors import AgentError, AgentTimeout, BadOutcome, LeaseLost, SymposiaError, invalid_input
from ...models.text.json_text import depth_of, dump_json
from ...models.text.redact import redact_value
from ...models.turns.streaming import TurnOutput, writing_to
from ...models.turns.turn import DraftMessage, TurnContext, TurnOutcome
from ..agent import Agent, AgentWithServices, AnyAgent, InstantAgent, TurnServices
from .django_connections import own_thread_for_blocking_calls
from .failures import to_agent_error
from .running import in_turn
from .threads import LoopThread

T = TypeVar("T")

#: Default of the maximum bytes (UTF-8) of one message.
MAX_MESSAGE_BYTES = 1_048_576
#: Maximum depth of the data of a turn, so that every reader of JSON can read it.
MAX_OUTPUT_DEPTH = 64


def check_outcome(outcome: object, *, max_message_bytes: int = MAX_MESSAGE_BYTES) -> TurnOutcome:
    """Return the outcome if it may be written.

    Raises:
        BadOutcome: The outcome breaks a rule; the error has the field, the rule and the value.
    """
    if not isinstance(outcome, TurnOutcome):
        raise bad_outcome("outcome", "must be a TurnOutcome", outcome)
    try:
        # Validate again: `model_copy` and `model_construct` do not, and a lone surrogate cannot be written.
        checked = TurnOutcome.model_validate_json(outcome.model_dump_json(warnings=False))
        outcome = _with_attachment_data(checked, outcome)
    except ValidationError as error:
        raise BadOutcome(str(invalid_input(error))) from None
    except ValueError:
        raise bad_outcome("outcome", "must be valid UTF-8 text", outcome) from None
    if outcome.question is not None and outcome.question.text:
        _check_content("question.text", outcome.question.text, max_message_bytes)
    if outcome.output is not None:
        outcome = _with_output(outcome, max_message_bytes)
    for index, draft in enumerate(outcome.messages):
        _check_content(f"messages[{index}].content", draft.content, max_message_bytes)
    decides = outcome.decision or outcome.hand_off or outcome.items
    if not (outcome.messages or outcome.passed or decides or outcome.question):
        raise bad_outcome(
            "outcome", "must contain a message, decision, hand-off, item or question, or pass", outcome
        )
    return outcome


def _with_attachment_data(checked: TurnOutcome, given: TurnOutcome) -> TurnOutcome:
    """Return a validated outcome with the bytes of its attachments, which JSON leaves out."""
    if not any(draft.attachments for draft in checked.messages):
        return checked
    messages = tuple(
        draft.model_copy(update={"attachments": before.attachments})
        for draft, before in zip(checked.messages, given.messages, strict=True)
    )
    return checked.model_copy(update={"messages": messages})


def _with_output(outcome: TurnOutcome, max_message_bytes: int) -> TurnOutcome:
    """Return the outcome with a message for its data, whose size is checked."""
    if depth_of(outcome.output) > MAX_OUTPUT_DEPTH:
        raise BadOutcome(f"output: must not nest lists and objects deeper than {MAX_OUTPUT_DEPTH} levels")
    text = dump_json(outcome.output)
    _check_content("output", text, max_message_bytes)
    if outcome.messages:
        return outcome
    return outcome.model_copy(update={"messages": (DraftMessage(content=text),)})


def _check_content(field: str, content: str, max_message_bytes: int) -> None:
    if not content or content.isspace():
        raise bad_outcome(field, "must not be blank", content)
    size = len(content) if content.isascii() else len(content.encode())
    if size > max_message_bytes:
        raise BadOutcome(f"{field}: must be at most {max_message_bytes} bytes (got {size} bytes)")


def bad_outcome(field: str, rule: str, value: object) -> BadOutcome:
    """Return the error for one field of an answer."""
    return BadOutcome(f"{field}: {rule} (got {redact_value(value)})")


class RunningTurn(Protocol):
    """A turn that an agent has started."""

    def result(self) -> TurnOutcome:
        """Wait for the outcome.

        Raises:
            AgentTimeout: The deadline has passed.
            AgentFailed: The agent raised an exception.
            BadOutcome: The answer cannot be written.
            SymposiaError: The error passed to `cancel`, by default LeaseLost.
        """
        ...

    def cancel(self, error: SymposiaError | None = None) -> None:
        """Cancel the agent, from any thread; `result` raises `error`, by default LeaseLost.

        Does nothing if the agent has already answered.
        """
        ...


class AgentRunner:
    """Runner of turns; one instance per process, used by all its threads, usable after a fork.

    Args:
        max_message_bytes: Maximum bytes (UTF-8) of one message.
        secrets: Texts that errors of agents must not contain.
    """

    def __init__(self, *, max_message_bytes: int = MAX_MESSAGE_BYTES, secrets: Iterable[str] = ()) -> None:
        self._max_message_bytes = max_message_bytes
        self._secrets = secrets
        self._loop = LoopThread()

    def run(
        self,
        agent: AnyAgent,
        turn: TurnContext,
        *,
        timeout_s: float,
        on_start: Callable[[RunningTurn], None] | None = None,
    ) -> TurnOutcome:
        """Run the turn and return its outcome; `on_start` gets the running turn, which it can cancel.

        Raises the errors of `start` and `RunningTurn.result`.
        """
        speaking = self.start(agent, turn, timeout_s=timeout_s)
        if on_start is not None:
            on_start(speaking)
        return speaking.result()

    def start(
        self,
        agent: AnyAgent,
        turn: TurnContext,
        *,
        timeout_s: float,
        turn_services: TurnServices | None = None,
        attachments: AttachmentReader | None = None,
    ) -> RunningTurn:
        """Start the turn, with a deadline in `timeout_s` seconds; `turn_services` are the services of the turn.

        The agent, its threads and its tools read files of messages with `attachments`. An instant agent has answered when this returns.

        Raises:
            AgentError: An instant agent failed.
        """
        speak_now = getattr(agent, "speak_now", None)
        if speak_now is None:
            services = turn_services or TurnServices()
            output = TurnOutput(services.listener, max_bytes=self._max_message_bytes)
            speaking = _call_agent(agent, turn, services, attachments, output, secrets=self._secrets)
            spoken = self._loop.submit(speaking)
            return _Pending(spoken, turn, timeout_s, self._max_message_bytes, self._loop)
        with reading_with(attachments):
            outcome = _call_instant_agent(cast(InstantAgent, agent), turn, self._secrets)
        return _Answered(check_outcome(outcome, max_message_bytes=self._max_message_bytes))

    def call(self, coroutine: Coroutine[Any, Any, T], *, timeout_s: float) -> T:
        """Return the result of a short coroutine of an agent, outside of its turns.

        Raises:
            AgentTimeout: It took longer than `timeout_s` seconds.
        """
        called = self._loop.submit(coroutine)
        try:
            return called.result(timeout_s)
        except TimeoutError:
            called.cancel()
            raise AgentTimeout(f"no answer within {timeout_s:g} s") from None

    def close(self, *, timeout_s: float = 5.0) -> None:
        """Cancel the running turns and close the loop with its connections; the runner may be used again."""
        self._loop.close(timeout_s=timeout_s)


class _Answered:
    """The turn of an instant agent."""

    __slots__ = ("_outcome",)

    def __init__(self, outcome: TurnOutcome) -> None:
        self._outcome = outcome

    def result(self) -> TurnOutcome:
        return self._outcome

    def cancel(self, error: SymposiaError | None = None) -> None:
        """Do nothing: the agent has answered."""


class _Pending:
    """A turn on the event loop."""

    def __init__(
        self,
        spoken: Future[object],
        turn: TurnContext,
        timeout_s: float,
        max_message_bytes: int,
        loop: LoopThread,
    ) -> None:
        self._call_agent = spoken
        self._turn = turn
        self._timeout_s = timeout_s
        self._max_message_bytes = max_message_bytes
        self._loop = loop
        self._cancelled_with: SymposiaError | None = None

    def result(self) -> TurnOutcome:
        try:
            outcome = self._call_agent.result(max(self._timeout_s, 0.0))
        except CancelledError:
            raise self._cancelled_with or to_agent_error(CancelledError("the agent was cancelled")) from None
        except TimeoutError:  # of the wait: a TimeoutError of the agent has become an AgentFailed
            self._call_agent.cancel()
            self._loop.log_if_blocked()
            raise AgentTimeout(f"no answer within {self._timeout_s:g} s") from None
        except BaseException as error:
            if self._call_agent.done():  # the agent has raised it
                raise
            # Raised in this thread while it waited, as Celery's soft time limit is.
            self._call_agent.cancel()
            if not isinstance(error, Exception):
                raise
            raise AgentTimeout(f"stopped by {type(error).__name__} of the worker") from None
        return check_outcome(outcome, max_message_bytes=self._max_message_bytes)

    def cancel(self, error: SymposiaError | None = None) -> None:
        if self._cancelled_with is None:
            self._cancelled_with = error or LeaseLost(self._turn.session_id, self._turn.turn_number)
        self._call_agent.cancel()


async def _call_agent(
    agent: AnyAgent,
    turn: TurnContext,
    turn_services: TurnServices,
    attachments: AttachmentReader | None,
    output: TurnOutput,
    *,
    secrets: Iterable[str],
) -> object:
    try:
        async with own_thread_for_blocking_calls():
            with in_turn(turn.session_id), reading_with(attachments), writing_to(output):
                if hasattr(agent, "speak_with_services"):
                    return await cast(AgentWithServices, agent).speak_with_services(turn, turn_services)
                return await cast(Agent, agent).speak(turn)
    except (SystemExit, KeyboardInterrupt) as error:  # it would end the event loop of all turns
        raise to_agent_error(error, secrets=secrets) from error
    except AgentError as error:  # it keeps its own cause
        raise to_agent_error(error, secrets=secrets)  # noqa: B904
    except Exception as error:
        raise to_agent_error(error, secrets=secrets) from error


def _call_instant_agent(agent: InstantAgent, turn: TurnContext, secrets: Iterable[str]) -> object:
    try:
        with in_turn(turn.session_id):
            return agent.speak_now(turn)
    except AgentError as error:  # it keeps its own cause
        raise to_agent_error(error, secrets=secrets)  # noqa: B904
    except Exception as error:
        raise to_agent_error(error, secrets=secrets) from error

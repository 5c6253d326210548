"""The agent of another system, called by A2A: one task of it for each turn.

The id of the message is derived from the session, the time at which it was opened, and the turn. The id of the task is
stored in the turn's call journal. So an attempt that follows a lost one waits for the same task.

Source: A2A 1.0, sections 3.1 (operations) and 4.1.3 (task states), https://a2a-protocol.org.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncIterator, Callable, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass

import httpx
from a2a.client import A2ACardResolver, Client, ClientConfig, ClientFactory
from a2a.helpers import get_message_text, get_stream_response_text
from a2a.types import (
    AgentCard,
    GetTaskRequest,
    Message,
    Role,
    SendMessageRequest,
    StreamResponse,
    SubscribeToTaskRequest,
    Task,
    TaskState,
)
from a2a.utils.errors import A2AError, InternalError, TaskNotFoundError

from ...models.errors import AgentError, AgentFailed, AgentTimeout
from ...models.text.ids import derived_id
from ...models.turns.streaming import TurnOutput, output_of_turn
from ...models.turns.turn import TurnContext, TurnOutcome
from ..agent import TurnServices
from ..execution.failures import scrub_text
from ..tables import Network
from .a2a_parts import read_outcome, turn_parts
from .checked_transport import CONNECT_TIMEOUT_S, CheckedTransport
from .http_call import HttpAnswer

#: Maximum bytes of one answer, or of all events of a stream: the files of the request, which the history of the task
#: repeats, and those of the result (16 MiB each, in base64), and text.
MAX_ANSWER_BYTES = 50_331_648
#: Maximum seconds between two requests for the state of a task.
MAX_POLL_S = 30.0
#: Maximum characters of the id of a task.
MAX_TASK_ID = 200
#: Prefix of the journal keys: the ids of the tasks, and the number of tasks that failed.
_KEY = "a2a:"
_FAILED = f"{_KEY}failed"

#: States in which a task changes no more, or waits for its client.
_ENDS = {
    TaskState.TASK_STATE_COMPLETED: "completed",
    TaskState.TASK_STATE_FAILED: "failed",
    TaskState.TASK_STATE_CANCELED: "was canceled",
    TaskState.TASK_STATE_REJECTED: "was rejected",
    TaskState.TASK_STATE_INPUT_REQUIRED: "asks for input",
    TaskState.TASK_STATE_AUTH_REQUIRED: "asks for authentication",
}


@dataclass(frozen=True, slots=True)
class A2AOptions:
    """How the agent of another system is called; the fields are those of its options."""

    url: str
    host: str
    token_env: str | None
    timeout_s: float | None
    request_timeout_s: float
    poll_s: float
    ask: str | None
    #: Private networks that may be called.
    networks: Sequence[Network]


class A2AAgent:
    """The agent of another system."""

    #: As in `PythonAgent`.
    streams = True

    def __init__(self, options: A2AOptions, read_variable: Callable[[str], str | None]) -> None:
        self._options = options
        self._read_variable = read_variable

    async def speak(self, turn: TurnContext) -> TurnOutcome:
        """Take the turn without a journal."""
        return await self.speak_with_services(turn, TurnServices())

    async def speak_with_services(self, turn: TurnContext, turn_services: TurnServices) -> TurnOutcome:
        """Send the new part of the dialog, and wait for the end of the task.

        Raises:
            AgentFailed: The task failed, or the agent cannot be called.
            AgentTimeout: The task did not end in time.
            BadOutcome: The result cannot be written.
        """
        host = self._options.host
        try:
            async with asyncio.timeout(self._options.timeout_s), self._open() as (card, client):
                call = _Call(self._options, card, client, turn, turn_services)
                answer = await call.run()
                return await call.outcome(answer)
        except TimeoutError:
            raise AgentTimeout(f"{host}: its task did not end within {self._options.timeout_s:g} s") from None
        except (A2AError, httpx.HTTPError, ValueError) as error:
            raise _failure(host, error) from None

    @asynccontextmanager
    async def _open(self) -> AsyncIterator[tuple[AgentCard, Client]]:
        options, headers = self._options, {}
        if options.token_env is not None:
            if not (token := self._read_variable(options.token_env)):
                raise AgentFailed(f"environment variable {options.token_env} is not set", retryable=False)
            headers["Authorization"] = f"Bearer {token}"
        transport = CheckedTransport(options.host, networks=options.networks, max_bytes=MAX_ANSWER_BYTES)
        timeout = httpx.Timeout(options.request_timeout_s, connect=CONNECT_TIMEOUT_S)
        async with httpx.AsyncClient(
            transport=transport, headers=headers, timeout=timeout, trust_env=False
        ) as http:
            card = await A2ACardResolver(http, options.url).get_agent_card()
            config = ClientConfig(httpx_client=http, polling=not card.capabilities.streaming)
            yield card, ClientFactory(config).create(card)


class _Call:
    """The task of one turn."""

    def __init__(
        self, options: A2AOptions, card: AgentCard, client: Client, turn: TurnContext, services: TurnServices
    ) -> None:
        self._options = options
        self._streams = card.capabilities.streaming
        self._client = client
        self._turn = turn
        self._journal = services.journal
        self._output: TurnOutput = output_of_turn()
        self._failed = int(self._journal.get_answer(_FAILED) or 0)
        self._task_id = self._journal.get_answer(self._key(len(turn.answers)))

    def _key(self, answers: int) -> str:
        """Return the journal key of the task after a number of answers to its questions."""
        return f"{_KEY}{self._failed}:{answers}"

    async def run(self) -> Task | Message:
        """Return the ended task, or the message with which the agent answered instead.

        Raises:
            AgentFailed: The agent does not know the task any more: the next attempt sends a new one.
        """
        try:
            return await self._run()
        except TaskNotFoundError:
            await self._count_failure()
            raise AgentFailed(f"{self._options.host} does not know the task any more") from None

    async def _run(self) -> Task | Message:
        message = None
        if self._task_id is None:
            message = await self._follow(self._client.send_message(await self._request()))
        elif self._streams:
            request = SubscribeToTaskRequest(id=self._task_id)
            message = await self._follow(self._client.subscribe(request))
        if message is not None:
            return message
        pause_s = self._options.poll_s
        while (task := await self._read_task()).status.state not in _ENDS:
            await asyncio.sleep(pause_s)
            pause_s = min(2 * pause_s, max(MAX_POLL_S, pause_s))
        return task

    async def outcome(self, answer: Task | Message) -> TurnOutcome:
        """Return the outcome of the turn.

        Raises:
            AgentFailed: The task has no result.
            BadOutcome: The result cannot be written.
        """
        if isinstance(answer, Message):
            return read_outcome(answer)
        state, said = answer.status.state, get_message_text(answer.status.message)
        if state == TaskState.TASK_STATE_COMPLETED:
            return read_outcome(answer)
        if state == TaskState.TASK_STATE_INPUT_REQUIRED and (person := self._person()):
            return TurnOutcome.ask(person, said[:32_000])
        if is_failed := state == TaskState.TASK_STATE_FAILED:
            await self._count_failure()
        detail = f": {scrub_text(said)}" if said else ""
        raise AgentFailed(f"{self._options.host}: the task {_ENDS[state]}{detail}", retryable=is_failed)

    async def _count_failure(self) -> None:
        """Store that the task has failed: the next attempt needs another one."""
        await self._journal.store_answers({_FAILED: str(self._failed + 1)})

    def _person(self) -> str | None:
        """Return the participant id of the person who answers questions; None: there is none."""
        people = [person.participant_id for person in self._turn.people]
        wanted = self._options.ask
        return next((person for person in people if wanted is None or person == wanted), None)

    async def _request(self) -> SendMessageRequest:
        """Return the message of this turn: the answer to the question of the task, or a new task."""
        turn, rounds = self._turn, len(self._turn.answers)
        run = f"{turn.session_id}:{turn.opened_ms}"
        names = [run, str(turn.turn_number), str(self._failed), str(rounds)]
        message = Message(
            message_id=derived_id(":".join(["a2a-message", *names])),
            context_id=derived_id(f"a2a-context:{run}:{turn.me.participant_id}"),
            role=Role.ROLE_USER,
        )
        # None: there was no question, or the task that asked has failed or is forgotten.
        asking_task = self._journal.get_answer(self._key(rounds - 1)) if rounds else None
        if asking_task is not None:
            message.task_id = asking_task
        message.parts.extend(await turn_parts(turn, is_reply=asking_task is not None))
        return SendMessageRequest(message=message)

    async def _follow(self, stream: AsyncIterator[StreamResponse]) -> Message | None:
        """Read events until the task ends, and write their text to the live output.

        Returns:
            The message with which the agent answered instead of a task.
        """
        self._output.restart()
        try:
            async with aclosing(stream):  # type: ignore[type-var]  # they are generators
                async for response in stream:
                    if response.HasField("message"):
                        return response.message
                    if await self._read_event(response) in _ENDS:
                        break
        except (A2AError, httpx.HTTPError):
            if self._task_id is None:
                raise
        return None  # a lost stream: the state of the task is requested

    async def _read_event(self, response: StreamResponse) -> TaskState | None:
        """Write the text of an event to the live output; return the state of the task, if the event has it."""
        if response.HasField("task"):
            await self._store(response.task.id)
            return response.task.status.state
        is_status = response.HasField("status_update")
        await self._store(response.status_update.task_id if is_status else response.artifact_update.task_id)
        if text := get_stream_response_text(response):
            if is_status or not response.artifact_update.append:
                self._output.restart()
            self._output.write(text)
        return response.status_update.status.state if is_status else None

    async def _store(self, task_id: str) -> None:
        """Store the id of the task, once. Raises AgentFailed: it breaks a rule, or is that of another task."""
        host = self._options.host
        if not task_id or task_id == self._task_id:
            return
        if self._task_id is not None:
            raise AgentFailed(f"{host} sent an event of another task", retryable=False)
        if len(task_id) > MAX_TASK_ID or not task_id.isprintable():
            rule = f"must be at most {MAX_TASK_ID} printable characters"
            raise AgentFailed(f"{host}: the id of its task {rule}", retryable=False)
        self._task_id = task_id
        await self._journal.store_answers({self._key(len(self._turn.answers)): task_id})

    async def _read_task(self) -> Task:
        if self._task_id is None:
            raise AgentFailed(f"{self._options.host} answered without a task", retryable=False)
        return await self._client.get_task(GetTaskRequest(id=self._task_id))


def _failure(host: str, error: A2AError | httpx.HTTPError | ValueError) -> AgentError:
    """Return the error of a call that failed; a retry may succeed if the agent may not have got the call."""
    cause = error if isinstance(error, httpx.HTTPError) else error.__cause__
    text = scrub_text(str(error)) or type(error).__name__
    if isinstance(cause, httpx.HTTPStatusError):
        answer = HttpAnswer(cause.response.status_code, dict(cause.response.headers))
        return AgentFailed(
            f"{host} answered HTTP {answer.status}",
            retryable=answer.is_transient,
            retry_after_s=answer.retry_after_s,
        )
    is_transient = isinstance(cause, httpx.RequestError) or isinstance(error, InternalError)
    return AgentFailed(f"{host}: {text}", retryable=is_transient)

"""Calls of tools: submit a session and wait for it, look at sessions, answer questions, cancel."""

from __future__ import annotations

import logging
from collections.abc import Awaitable, Callable, Mapping
from contextlib import suppress
from dataclasses import dataclass
from functools import partial
from typing import Any

import anyio
from mcp import types
from mcp.server.context import ServerRequestContext
from mcp.shared.exceptions import MCPError
from mcp.shared.message import ServerMessageMetadata
from pydantic import ValidationError

from ...client.aio.client import submit_read
from ...client.aio.jobs import AsyncCollabJob, blocking_job
from ...client.aio.request_ids import reserve_session_id
from ...jobs.questions import find_question, question_id
from ...models.errors import (
    Forbidden,
    IllegalTransition,
    InvalidInput,
    ReplyRefused,
    SymposiaError,
    invalid_input,
)
from ...models.identity import Caller, Scope
from ...models.protocol.dialog import Message
from ...models.text.redact import excerpt
from ...models.turns.waiting import Pending
from ..context import WebContext, open_job
from ..questions import open_questions, person_of
from ..submissions import SubmissionBody, read_body
from .arguments import CancelArguments, GetArguments, ListArguments, ReplyArguments
from .forms import FORM, FormState, form_of, read_answer, shows_forms
from .listing import list_sessions
from .options import ServerOptions
from .resources import transcript_link
from .results import error_result, read_result, tool_result
from .session_tools import SessionTools
from .tool_names import CANCEL, GET_SESSION, LIST_SESSIONS, REPLY
from .waiting import FormClosed, WaitEnd, WaitHandlers, newest_message, wait_for_session

_log = logging.getLogger(__name__)

ToolAnswer = types.CallToolResult | types.InputRequiredResult
#: Key in `_meta` of a call: calls with the same id and inputs are one session. Agents of Symposia send it with each tool call.
KEY = "symposia/effect_id"
_MAX_KEY = 200
#: Maximum characters of a message in a progress notification.
_MAX_PROGRESS = 200
#: Seconds for which the cancellation of a session may take after its request was cancelled.
_CANCEL_S = 5.0


@dataclass(frozen=True, slots=True)
class ToolCall:
    """One call of a tool by a caller."""

    context: WebContext
    tools: SessionTools
    options: ServerOptions
    caller: Caller
    request: ServerRequestContext[Any, Any]
    params: types.CallToolRequestParams

    async def run(self) -> ToolAnswer:
        """Return the result; an error that the model of the client can correct is a result, too.

        Raises:
            MCPError: There is no such tool.
        """
        handlers: dict[str, Callable[[Mapping[str, Any]], Awaitable[ToolAnswer]]] = {
            LIST_SESSIONS: self._list,
            GET_SESSION: self._get,
            REPLY: self._reply,
            CANCEL: self._cancel,
        }
        name = self.params.name
        handle = self._submit if name in self.tools.names else handlers.get(name)
        if handle is None:
            raise MCPError(types.INVALID_PARAMS, f"tool {name[:100]!r} not found")
        try:
            return await handle(self.params.arguments or {})
        except SymposiaError as error:
            return error_result(self.options.describe(error))

    async def _submit(self, arguments: Mapping[str, Any]) -> ToolAnswer:
        """Submit the session of a file, and wait for it; or continue after a form."""
        self.caller.require(Scope.SUBMIT)
        if self.params.request_state is not None:
            return await self._continue(self.params.request_state)
        name = self.tools.names[self.params.name]
        with anyio.CancelScope(shield=True):  # a call that is cancelled meanwhile knows its session
            job = await self._submit_file(name, arguments)
        try:
            return await self._wait(job)
        except anyio.get_cancelled_exc_class():
            # A server that stops ends no sessions.
            if self.options.cancels and not self.context.closing.is_set():
                with anyio.move_on_after(_CANCEL_S, shield=True), suppress(SymposiaError):
                    await job.cancel("the request of the MCP client was cancelled", by=self.caller.name)
            raise

    async def _submit_file(self, name: str, inputs: Mapping[str, Any]) -> AsyncCollabJob:
        try:
            body = SubmissionBody(file=name, inputs=dict(inputs), collab_id=await self._reserve_id())
        except ValidationError as error:
            raise invalid_input(error) from None
        client = self.context.client
        return await submit_read(
            client, await client.run(read_body, body, self.caller, self.context.settings)
        )

    async def _reserve_id(self) -> str | None:
        """Return the session id of a call with an idempotency key."""
        key = (self.request.meta or {}).get(KEY)
        if key is None:
            return None
        if not isinstance(key, str) or not 1 <= len(key) <= _MAX_KEY:
            raise InvalidInput(f"_meta.{KEY}", key, f"must be text of 1 to {_MAX_KEY} characters")
        caller = self.caller
        return await reserve_session_id(
            self.context.client, "mcp", caller.tenant or "", caller.name, self.params.name, key
        )

    async def _get(self, arguments: Mapping[str, Any]) -> ToolAnswer:
        self.caller.require(Scope.READ)
        given = GetArguments.read(arguments)
        if self.params.request_state is not None:
            return await self._continue(self.params.request_state)
        job = await open_job(self.context, self.caller, given.session_id)
        if not given.wait:
            return await self._result(job)
        known = (
            ()
            if self._shows_forms
            else (question.reply_token for question in await open_questions(self.context, job))
        )
        return await self._wait(job, known=frozenset(known), after=await self._newest_message(job))

    async def _list(self, arguments: Mapping[str, Any]) -> ToolAnswer:
        self.caller.require(Scope.READ)
        return tool_result(await list_sessions(self.context, self.caller, ListArguments.read(arguments)))

    async def _reply(self, arguments: Mapping[str, Any]) -> ToolAnswer:
        self.caller.require(Scope.REPLY)
        given = ReplyArguments.read(arguments)
        job = await open_job(self.context, self.caller, given.session_id)
        question = find_question(await open_questions(self.context, job), given.question_id)
        if question is None:
            raise InvalidInput("question_id", given.question_id, "must be an open question of the session")
        await self._send_answer(job, question, given.answer, person=given.person)
        return await self._result(job)

    async def _cancel(self, arguments: Mapping[str, Any]) -> ToolAnswer:
        self.caller.require(Scope.CONTROL)
        given = CancelArguments.read(arguments)
        job = await open_job(self.context, self.caller, given.session_id)
        with suppress(IllegalTransition):  # it has ended: a second call changes nothing
            await job.cancel(given.reason, by=self.caller.name)
        return await self._result(job)

    # -- waiting ----------------------------------------------------------------------------

    @property
    def _shows_forms(self) -> bool:
        return self.caller.may(Scope.REPLY) and shows_forms(self.request.session.client_capabilities)

    async def _newest_message(self, job: AsyncCollabJob) -> str | None:
        """Return the message after which the messages of a session that an earlier call has submitted are reported."""
        return await self.context.client.run(newest_message, blocking_job(job))

    async def _wait(
        self, job: AsyncCollabJob, *, known: frozenset[str] = frozenset(), after: str | None = None
    ) -> ToolAnswer:
        """Wait for a session; return its end, its state, or the form of a question."""
        session = self.request.session
        count = 0

        async def report(message: Message | None) -> None:
            nonlocal count
            count += 1
            text = (
                "the session runs"
                if message is None
                else f"{message.speaker or message.role}: {message.content}"
            )
            await session.report_progress(count, message=excerpt(text, _MAX_PROGRESS))

        async def ask(question: Pending) -> None:
            form = types.ElicitRequest(params=form_of(question))
            related = ServerMessageMetadata(related_request_id=self.request.request_id)
            try:
                shown = await session.send_request(form, types.ElicitResult, metadata=related)
            except (MCPError, ValidationError) as error:
                _log.warning("session %s: the client cannot show a form: %s", job.id, error)
                raise FormClosed from None
            if not await self._answer_form(job, question_id(question.reply_token), shown):
                raise FormClosed

        handlers = WaitHandlers(
            report=report,
            questions=partial(open_questions, self.context, job),
            ask=ask if self._shows_forms and session.can_send_request else None,
            known=known,
            after=after,
        )
        end = await wait_for_session(job, handlers, timeout_s=self.options.timeout_s)
        if end is WaitEnd.QUESTION and self._shows_forms and not session.can_send_request:
            return await self._form(job)
        return await self._result(job)

    async def _form(self, job: AsyncCollabJob) -> ToolAnswer:
        """Return the form of the first open question: the client sends the call again with the answer."""
        for question in await open_questions(self.context, job):
            state = FormState(job.id, question_id(question.reply_token))
            form = types.ElicitRequest(params=form_of(question))
            return types.InputRequiredResult(input_requests={FORM: form}, request_state=state.encode())
        return await self._result(job)

    async def _continue(self, state: str) -> ToolAnswer:
        """Send what a person entered in a form, and wait on; without an answer, return the question."""
        shown = FormState.decode(state)
        job = await open_job(self.context, self.caller, shown.session_id)
        if not await self._may_read(job):
            raise Forbidden(Scope.READ)
        response = (self.params.input_responses or {}).get(FORM)
        result = response if isinstance(response, types.ElicitResult) else None
        # Before the answer: the message of its turn may follow at once.
        after = await self._newest_message(job)
        if await self._answer_form(job, shown.question_id, result):
            return await self._wait(job, after=after)
        return await self._result(job)

    async def _answer_form(self, job: AsyncCollabJob, wanted: str, result: types.ElicitResult | None) -> bool:
        """Send what a person entered; return whether the question is closed."""
        answer = read_answer(result)
        if answer is None:
            return False
        self.caller.require(Scope.REPLY)
        question = find_question(await open_questions(self.context, job), wanted)
        try:
            if question is not None:  # else it was answered meanwhile
                await self._send_answer(job, question, answer)
        except ReplyRefused:
            _log.info("session %s: the question of a form was answered meanwhile", job.id)
        except InvalidInput as error:  # the client has not checked it
            _log.info("session %s: the answer of a form is refused: %s", job.id, error)
            return False
        return True

    async def _send_answer(
        self, job: AsyncCollabJob, question: Pending, text: str, *, person: str | None = None
    ) -> None:
        """Answer a question in the name of a person: by default the caller, or else the first one who is asked."""
        name = person or person_of(self.caller, question)
        await job.reply(name, text, token=question.reply_token, by=self.caller.name)

    async def _result(self, job: AsyncCollabJob) -> types.CallToolResult:
        """Return the end of a session, or its state; without its contents for a caller who may not read them."""
        result = await read_result(self.context, job)
        if not await self._may_read(job):
            result = result.model_copy(update={"detail": "", "text": "", "output": None, "questions": []})
        return tool_result(result, transcript_link(job.id))

    async def _may_read(self, job: AsyncCollabJob) -> bool:
        """Return whether the caller may read the contents of a session: also of one that it has submitted."""
        return self.caller.may(Scope.READ) or (await job.spec()).owner == self.caller.name

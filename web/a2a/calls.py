"""Calls of the agent of a session file: the session of a message, and its events as those of a task."""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator
from typing import Any

from a2a.helpers import get_data_parts, get_message_text
from a2a.types import Message, Task, TaskArtifactUpdateEvent, TaskState, TaskStatus, TaskStatusUpdateEvent
from a2a.utils.errors import UnsupportedOperationError

from ...client.aio.jobs import AsyncCollabJob, blocking_job
from ...models.attachments import UNKNOWN_TYPE, Attachment
from ...models.errors import InvalidInput, ReplyRefused, SessionNotFound
from ...models.identity import Caller
from ...models.protocol.dialog import Message as DialogMessage
from ...models.text.ids import derived_id
from ...state.streams.updates import UpdateCursor
from ..context import WebContext, open_job
from ..events import StopFollowing
from ..followed import Asked, Ended, follow_session, newest_cursor
from ..runs import Run, check_id, open_run, reply, session_of
from .tasks import (
    CONTEXT_TAG,
    ENDED,
    FILE_TAG,
    HISTORY,
    MAX_CONTEXT,
    question,
    read_artifact,
    read_status,
    read_task,
    said,
    tag_of,
)

#: Maximum seconds for which a request without a stream waits for the end of its task.
MAX_WAIT_S = 600.0
_PROTOCOL = "a2a"


class Call:
    """A call of the agent of a session file."""

    def __init__(self, context: WebContext, caller: Caller, name: str) -> None:
        self.context = context
        self.caller = caller
        self.name = name

    async def find(self, task_id: str) -> AsyncCollabJob:
        """Return the session of a task of this agent. Raises SessionNotFound."""
        job = await open_job(self.context, self.caller, task_id)
        if await self.context.client.run(tag_of, blocking_job(job), FILE_TAG) != self.name:
            raise SessionNotFound(task_id)
        return job

    async def accept(self, message: Message) -> tuple[AsyncCollabJob, UpdateCursor]:
        """Start the task of a message, or answer its question; return the task, and where its news begin."""
        check_id("message.messageId", message.message_id)
        if message.task_id:
            job = await self.find(message.task_id)
            cursor = await newest_cursor(self.context, job)
            await self._answer(job, message)
            return job, cursor
        job, is_new = await open_run(self.context, self.caller, await self._read_run(message))
        return job, UpdateCursor() if is_new else await newest_cursor(self.context, job)

    async def _answer(self, job: AsyncCollabJob, message: Message) -> None:
        try:
            await reply(self.context, self.caller, job, get_message_text(message), key=message.message_id)
        except ReplyRefused:
            rule = "the task asks nothing now"
            if (await job.state()).is_final:
                rule = "the task has ended: send a message of its context without taskId"
            raise UnsupportedOperationError(rule) from None

    async def _read_run(self, message: Message) -> Run:
        session_id = await session_of(self.context, self.caller, _PROTOCOL, self.name, message.message_id)
        context_id = message.context_id or derived_id(f"a2a context {session_id}")
        if len(check_id("message.contextId", context_id)) > MAX_CONTEXT:
            raise InvalidInput("message.contextId", context_id, f"must be at most {MAX_CONTEXT} characters")
        inputs: dict[str, Any] = {}
        for data in get_data_parts(message.parts):
            if not isinstance(data, dict):
                raise InvalidInput("message.parts", data, "must have data parts that are objects: the inputs")
            inputs |= {name: _whole(value) for name, value in data.items()}
        return Run(
            protocol=_PROTOCOL,
            file=self.name,
            thread=context_id,
            key=message.message_id,
            text=get_message_text(message),
            inputs=inputs,
            attachments=tuple(
                Attachment.of(
                    part.filename or f"file-{at}", part.raw, media_type=part.media_type or UNKNOWN_TYPE
                )
                for at, part in enumerate(message.parts, start=1)
                if part.HasField("raw")
            ),
            tags=(f"{FILE_TAG}{self.name}", f"{CONTEXT_TAG}{context_id}"),
        )

    async def task(self, job: AsyncCollabJob, history: int = HISTORY) -> Task:
        """Return a task as it is now."""
        return await self.context.client.run(read_task, blocking_job(job), history)

    async def wait(self, job: AsyncCollabJob, after: UpdateCursor) -> None:
        """Wait until a task has ended or asks for input, at most ten minutes."""
        try:
            async with asyncio.timeout(MAX_WAIT_S):
                async for event in self.events(job, after):
                    if isinstance(event, TaskStatusUpdateEvent) and is_over(event.status):
                        return
        except (TimeoutError, StopFollowing):
            return

    async def events(
        self, job: AsyncCollabJob, after: UpdateCursor
    ) -> AsyncGenerator[TaskStatusUpdateEvent | TaskArtifactUpdateEvent, None]:
        """Yield what happens in a task until it has ended or asks for input."""
        run, blocking = self.context.client.run, blocking_job(job)
        context_id = await run(tag_of, blocking, CONTEXT_TAG)
        ids = {"task_id": job.id, "context_id": context_id}
        async for followed in follow_session(self.context, job, after=after, deltas=False):
            status = TaskStatus(state=TaskState.TASK_STATE_WORKING)
            match followed:
                case DialogMessage(author=str()):
                    status.message.CopyFrom(said(followed, job.id, context_id))
                    status.timestamp.FromDatetime(followed.timestamp)
                    yield TaskStatusUpdateEvent(status=status, **ids)
                case Asked():
                    status.state = TaskState.TASK_STATE_INPUT_REQUIRED
                    status.message.CopyFrom(question(followed.questions[0]))
                    yield TaskStatusUpdateEvent(status=status, **ids)
                case Ended():
                    status = await run(read_status, blocking)
                    if status.state == TaskState.TASK_STATE_COMPLETED:
                        artifact = await run(read_artifact, blocking)
                        yield TaskArtifactUpdateEvent(
                            artifact=artifact, last_chunk=True, task_id=job.id, context_id=context_id
                        )
                    yield TaskStatusUpdateEvent(status=status, **ids)
                case _:
                    continue


def is_over(status: TaskStatus) -> bool:
    """Return whether a task has ended or asks for input."""
    return status.state in ENDED or status.state == TaskState.TASK_STATE_INPUT_REQUIRED


def _whole(value: object) -> object:
    """Return a number of protobuf, which are all floats, as an integer if it is one."""
    return int(value) if isinstance(value, float) and value.is_integer() else value

"""Waiting for a session within a time limit: its messages, its questions, its end.

The followers are plain asyncio tasks, and are awaited after they are cancelled. The SDK cancels a request again at each
`await`, which would interrupt a follower while it closes its connection.
"""

from __future__ import annotations

import asyncio
from collections.abc import AsyncGenerator, Awaitable, Callable, Coroutine, Sequence
from contextlib import aclosing, asynccontextmanager
from dataclasses import dataclass, field
from enum import StrEnum
from typing import Any

import anyio

from ...client.aio.jobs import AsyncCollabJob
from ...jobs.collab import CollabJob
from ...models.protocol.dialog import Message
from ...models.turns.waiting import Pending
from ..followed import newest_entry

#: Seconds without news after which the client gets a message that the session runs.
_QUIET_S = 15.0
#: News of a form whose question is closed.
_ANSWERED = "answered"
#: Maximum number of news that wait to be handled; the followers wait, too.
_MAX_NEWS = 100
#: Seconds between two attempts to cancel a task. Before Python 3.12, redis-py may lose a cancellation.
_CANCEL_S = 5.0


class WaitEnd(StrEnum):
    """Why a wait ended."""

    #: The session has ended.
    ENDED = "ended"
    #: A person is asked, and the client cannot answer.
    QUESTION = "question"
    #: The time limit was reached.
    TIME = "time"


class FormClosed(Exception):
    """The person at the client did not answer the question."""


@dataclass(frozen=True, slots=True)
class WaitHandlers:
    """What a wait calls."""

    #: Reports a message; None: nothing has happened for a while.
    report: Callable[[Message | None], Awaitable[None]]
    #: Returns the open questions to people.
    questions: Callable[[], Awaitable[Sequence[Pending]]]
    #: Asks the person at the client, and sends the answer. Raises FormClosed without one. None: the client has no forms.
    ask: Callable[[Pending], Coroutine[Any, Any, None]] | None = None
    #: Reply tokens of questions that do not end the wait.
    known: frozenset[str] = frozenset()
    #: Id of the message after which messages are reported; None: all are.
    after: str | None = None


@dataclass(slots=True)
class _Wait:
    """One wait. `news` holds messages, questions, errors, `_ANSWERED` after a form, and None at the end."""

    job: AsyncCollabJob
    handlers: WaitHandlers
    news: asyncio.Queue[Message | Pending | Exception | str | None] = field(
        default_factory=lambda: asyncio.Queue(_MAX_NEWS)
    )
    #: Questions that were not shown yet.
    waiting: list[Pending] = field(default_factory=list)
    shown: Pending | None = None
    form: asyncio.Task[None] | None = None

    async def follow_messages(self) -> None:
        """Put each message of the session, and its end."""
        async with aclosing(self.job.messages(follow=True, after=self.handlers.after)) as messages:
            async for message in messages:
                await self.news.put(message)
        await self.news.put(None)

    async def follow_questions(self) -> None:
        """Put each question of the session."""
        async with aclosing(self.job.questions()) as questions:
            async for question in questions:
                await self.news.put(question)

    async def catch(self, steps: Coroutine[Any, Any, None]) -> None:
        """Run a follower or a form; an error of it ends the wait."""
        try:
            await steps
        except Exception as error:  # noqa: BLE001 - raised by `run`
            await self.news.put(error)

    async def run(self) -> WaitEnd:
        """Handle the news until the session ends, or until a question ends the wait."""
        async with ending_tasks() as start:
            for follower in (self.follow_messages(), self.follow_questions()):
                _ = start(self.catch(follower))
            while (end := await self._handle(await self._next())) is None:
                if self.form is None and self.waiting and self.handlers.ask is not None:
                    self.shown = self.waiting.pop(0)
                    self.form = start(self.catch(self._ask(self.handlers.ask, self.shown)))
        return end

    async def _handle(self, news: Message | Pending | Exception | str | None) -> WaitEnd | None:
        """Handle one of the news; return why the wait ends, or None."""
        match news:
            case None:
                return WaitEnd.ENDED
            case FormClosed():
                return WaitEnd.QUESTION
            case Exception():
                raise news
            case Message():
                await self.handlers.report(news)
                await self._close_stale_form()
            case Pending():
                if await self._is_new(news):
                    if self.handlers.ask is None:
                        return WaitEnd.QUESTION
                    self.waiting.append(news)
            case _:
                self.form = self.shown = None
        return None

    async def _next(self) -> Message | Pending | Exception | str | None:
        while True:
            with anyio.move_on_after(_QUIET_S):
                return await self.news.get()
            await self.handlers.report(None)

    async def _ask(self, ask: Callable[[Pending], Coroutine[Any, Any, None]], question: Pending) -> None:
        await ask(question)
        await self.news.put(_ANSWERED)

    async def _is_new(self, question: Pending) -> bool:
        """Return whether a person is asked, who was not asked before the wait."""
        token = question.reply_token
        return token not in self.handlers.known and await self._is_open(token)

    async def _is_open(self, reply_token: str) -> bool:
        return reply_token in {question.reply_token for question in await self.handlers.questions()}

    async def _close_stale_form(self) -> None:
        """Cancel the form of a question that was answered elsewhere."""
        if self.form is None or self.shown is None or self.form.done():
            return
        if not await self._is_open(self.shown.reply_token):
            await end_tasks({self.form})
            self.form = self.shown = None


def newest_message(job: CollabJob) -> str | None:
    """Return the id of the newest message of a live session; None: it has none."""
    return newest_entry(job, "dialog") if job.is_live else None


async def wait_for_session(job: AsyncCollabJob, handlers: WaitHandlers, *, timeout_s: float) -> WaitEnd:
    """Wait until a session ends, a question ends the wait, or the time is over. The session continues.

    Raises:
        SessionNotFound: The session has expired.
        RedisUnavailable: Redis does not answer.
    """
    if not job.is_live:
        return WaitEnd.ENDED
    with anyio.move_on_after(timeout_s):
        return await _Wait(job, handlers).run()
    return WaitEnd.TIME


@asynccontextmanager
async def ending_tasks() -> AsyncGenerator[Callable[[Coroutine[Any, Any, None]], asyncio.Task[None]], None]:
    """Return what starts a task. At the end of the block all tasks are cancelled and awaited."""
    tasks: set[asyncio.Task[None]] = set()

    def start(steps: Coroutine[Any, Any, None]) -> asyncio.Task[None]:
        task = asyncio.create_task(steps)
        tasks.add(task)
        task.add_done_callback(tasks.discard)
        return task

    try:
        yield start
    finally:
        await end_tasks(tasks)


async def end_tasks(tasks: set[asyncio.Task[None]]) -> None:
    """Cancel tasks, and wait until they have ended, also if the caller is being cancelled."""
    with anyio.CancelScope(shield=True):
        while running := {task for task in tasks if not task.done()}:
            for task in running:
                task.cancel()
            await asyncio.wait(running, timeout=_CANCEL_S)

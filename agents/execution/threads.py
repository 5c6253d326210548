"""Threads of agents: one event loop thread per process, daemon threads for blocking calls, and fork safety.

Turns run in many worker threads. They wait for coroutines (mostly model calls) on the one event loop of the
process, so all turns share one loop and one HTTP pool. The loop thread starts with the first coroutine.

Agents that block run in a limited number of daemon threads. The pool of the standard library joins its
threads when the process ends, so one callable that hangs would delay a worker's shutdown. Another worker
repeats a turn that is interrupted this way.

A forked child starts its own threads: threads do not survive a fork, and two processes must not share locks
and connections.
"""

from __future__ import annotations

import asyncio
import logging
import os
import sys
import threading
import traceback
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from contextlib import suppress
from contextvars import copy_context
from queue import SimpleQueue
from typing import Any, Protocol, TypeVar

from .django_connections import fresh_connections

log = logging.getLogger(__name__)


class ForkAware(Protocol):
    """An object that can restart in a forked child."""

    def reset_after_fork(self) -> None:
        """Drop what belongs to the parent process, locks included, without touching it."""
        ...


def reset_in_children(thing: ForkAware) -> None:
    """Call `thing.reset_after_fork()` in every process forked from this one while `thing` exists."""
    _fork_aware.add(thing)


_fork_aware: weakref.WeakSet[ForkAware] = weakref.WeakSet()


def _reset_all() -> None:
    for thing in list(_fork_aware):
        thing.reset_after_fork()


os.register_at_fork(after_in_child=_reset_all)


T = TypeVar("T")
QueuedCall = Callable[[], None]


class DaemonThreadPool:
    """Pool of at most `limit` daemon threads, started when needed; further calls wait for a free thread."""

    def __init__(self, *, limit: int) -> None:
        self._limit = limit
        self.reset_after_fork()
        reset_in_children(self)

    def submit(self, call: Callable[[], T]) -> Future[T]:
        """Run `call` in a thread, with a copy of the caller's context variables.

        Cancelling the future prevents the start of the call; a running call cannot be stopped.
        """
        future: Future[T] = Future()
        context = copy_context()

        def job() -> None:
            if future.set_running_or_notify_cancel():
                context.run(_run_call, future, call)

        with self._lock:
            self._unfinished += 1
            if self._unfinished > self._started and self._started < self._limit:
                self._started += 1
                arguments = (self._jobs,)
                threading.Thread(
                    target=self._work, args=arguments, name="symposia-callable", daemon=True
                ).start()
            self._jobs.put(job)
        return future

    def close(self) -> None:
        """End each thread after its call. A later `submit` starts new threads."""
        with self._lock:
            jobs, started = self._jobs, self._started
            self._restart()
        for _ in range(started):
            jobs.put(None)

    def reset_after_fork(self) -> None:
        """Restart in a forked child, which has none of the threads."""
        self._lock = threading.Lock()
        self._restart()

    def _restart(self) -> None:
        self._jobs: SimpleQueue[QueuedCall | None] = SimpleQueue()
        self._started = 0
        self._unfinished = 0

    def _work(self, jobs: SimpleQueue[QueuedCall | None]) -> None:
        while (job := jobs.get()) is not None:
            job()
            with self._lock:
                if self._jobs is jobs:
                    self._unfinished -= 1
        _close_loop_of_thread()


def _close_loop_of_thread() -> None:
    """Close the event loop that a call has left in this thread, as `run_sync` of pydantic-ai does."""
    with suppress(RuntimeError):  # there is none
        asyncio.get_event_loop().close()


def _run_call(future: Future[T], call: Callable[[], T]) -> None:
    try:
        with fresh_connections():
            answer = call()
        future.set_result(answer)
    except BaseException as error:  # noqa: BLE001 - the caller gets even SystemExit
        # asyncio cannot pass StopIteration to the coroutine that awaits the call: it would wait forever.
        future.set_exception(RuntimeError("StopIteration") if isinstance(error, StopIteration) else error)


ResultT = TypeVar("ResultT")
CloseCallback = Callable[[], Awaitable[None]]


class LoopThread:
    """An event loop in a daemon thread, started lazily and usable after a fork."""

    _loop: asyncio.AbstractEventLoop | None
    _thread: threading.Thread | None

    def __init__(self) -> None:
        self.reset_after_fork()
        reset_in_children(self)

    def submit(self, coroutine: Coroutine[Any, Any, ResultT]) -> Future[ResultT]:
        """Run the coroutine on the loop; cancelling the future cancels the coroutine."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._started())

    def log_if_blocked(self, *, wait_s: float = 1.0) -> None:
        """Log the place of the loop thread if the loop does not react within `wait_s` seconds."""
        with self._lock:
            loop, thread = self._loop, self._thread
        if loop is None or thread is None:
            return
        reacted = threading.Event()
        try:
            loop.call_soon_threadsafe(reacted.set)
        except RuntimeError:  # closed in the meantime
            return
        if not reacted.wait(wait_s):
            log.error("event loop of the agents blocked for %g s at: %s", wait_s, _place_of(thread))

    def close(self, *, timeout_s: float = 5.0) -> None:
        """Cancel the running coroutines, close what was opened on the loop, and stop the thread.

        A later `submit` starts a new loop.
        """
        with self._lock:
            loop, thread = self._loop, self._thread
            self._loop = self._thread = None
        if loop is not None and thread is not None:
            asyncio.run_coroutine_threadsafe(_close_loop(loop), loop)
            thread.join(timeout_s)

    def reset_after_fork(self) -> None:
        """Restart in a forked child, which has the parent's loop but not its thread."""
        # A new lock, too: a thread that does not exist in the child may have held the old one.
        self._lock = threading.Lock()
        self._loop = None
        self._thread = None

    def _started(self) -> asyncio.AbstractEventLoop:
        with self._lock:
            if self._loop is None:
                self._loop = asyncio.new_event_loop()
                self._thread = threading.Thread(
                    target=_serve, args=(self._loop,), name="symposia-agents", daemon=True
                )
                self._thread.start()
            return self._loop


def _place_of(thread: threading.Thread) -> str:
    """Return the innermost calls of a thread in one line, the innermost first."""
    frame = sys._current_frames().get(thread.ident or 0)  # noqa: SLF001 - the documented name
    calls = list(traceback.walk_stack(frame))[:12] if frame else []
    return " < ".join(
        f"{caller.f_code.co_name} ({caller.f_code.co_filename}:{line})" for caller, line in calls
    )


def before_close(close_callback: CloseCallback) -> None:
    """Register a callback that is awaited before the running loop closes, for pools of the loop."""
    _close_callbacks.setdefault(asyncio.get_running_loop(), []).append(close_callback)


_close_callbacks: weakref.WeakKeyDictionary[asyncio.AbstractEventLoop, list[CloseCallback]] = (
    weakref.WeakKeyDictionary()
)


def _serve(loop: asyncio.AbstractEventLoop) -> None:
    asyncio.set_event_loop(loop)
    try:
        loop.run_forever()
    finally:
        loop.close()


async def _close_loop(loop: asyncio.AbstractEventLoop) -> None:
    # A task that is cancelled before its first step may hold a coroutine that is then never awaited.
    await asyncio.sleep(0)
    running = asyncio.all_tasks() - {asyncio.current_task()}
    for task in running:
        task.cancel()
    try:
        await asyncio.gather(*running, return_exceptions=True)
        await asyncio.gather(
            *(close_callback() for close_callback in _close_callbacks.pop(loop, ())), return_exceptions=True
        )
        await loop.shutdown_asyncgens()
    finally:
        loop.stop()

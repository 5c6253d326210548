"""One event loop thread a process, shared by all agents that wait for something.

Turns run in many worker threads; what they wait for (model calls, mostly) runs here, so
that a process has one loop and one HTTP pool however many turns it holds. The thread
starts with the first coroutine. A forked child starts its own: threads do not survive a
fork, and connections must not be shared by two processes.
"""

from __future__ import annotations

import asyncio
import threading
import weakref
from collections.abc import Awaitable, Callable, Coroutine
from concurrent.futures import Future
from typing import Any, TypeVar

from .fork_safety import reset_in_children

ResultT = TypeVar("ResultT")
CloseCallback = Callable[[], Awaitable[None]]


class LoopThread:
    """An event loop in a daemon thread; lazily started, safe to use after a fork."""

    _loop: asyncio.AbstractEventLoop | None
    _thread: threading.Thread | None

    def __init__(self) -> None:
        self.reset_after_fork()
        reset_in_children(self)

    def submit(self, coroutine: Coroutine[Any, Any, ResultT]) -> Future[ResultT]:
        """Run the coroutine on the loop; cancelling the future cancels the coroutine."""
        return asyncio.run_coroutine_threadsafe(coroutine, self._started())

    def close(self, *, timeout_s: float = 5.0) -> None:
        """Cancel what still runs, close what was opened on the loop, stop the thread.

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
        # A new lock, too: a thread that the fork did not copy may have held the old one.
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


def before_close(farewell: CloseCallback) -> None:
    """Register `farewell` to be awaited before the running loop closes: for pools that belong to it."""
    _close_callbacks.setdefault(asyncio.get_running_loop(), []).append(farewell)


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
    running = asyncio.all_tasks() - {asyncio.current_task()}
    for task in running:
        task.cancel()
    try:
        await asyncio.gather(*running, return_exceptions=True)
        await asyncio.gather(
            *(farewell() for farewell in _close_callbacks.pop(loop, ())), return_exceptions=True
        )
        await loop.shutdown_asyncgens()
    finally:
        loop.stop()

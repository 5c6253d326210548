"""Threads in which an asynchronous client makes its blocking calls: a bounded number, and none of the event loop's."""

from __future__ import annotations

import asyncio
import contextvars
from collections.abc import AsyncGenerator, Callable, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import Any, ParamSpec, TypeVar

from ...models.errors import ClientClosed

CallP = ParamSpec("CallP")
CallR = TypeVar("CallR")
ItemT = TypeVar("ItemT")

#: What `next` answers at the end of an iterator.
_END: Any = object()


class CallThreads:
    """The threads of one asynchronous client.

    Args:
        limit: Maximum number of calls that run at the same time; more of them wait. Streams have as many threads
            of their own, so that open streams do not delay calls.
    """

    def __init__(self, limit: int) -> None:
        self._calls = ThreadPoolExecutor(limit, thread_name_prefix="symposia-call")
        self._streams = ThreadPoolExecutor(limit, thread_name_prefix="symposia-stream")
        self._is_closed = False

    async def run_call(
        self, function: Callable[CallP, CallR], /, *args: CallP.args, **kwargs: CallP.kwargs
    ) -> CallR:
        """Call a blocking function in a thread. It runs to its end, also when the task that waits is cancelled."""
        return await asyncio.wrap_future(self._start(self._calls, partial(function, *args, **kwargs)))

    async def run_iterator(
        self, function: Callable[CallP, Iterator[ItemT]], /, *args: CallP.args, **kwargs: CallP.kwargs
    ) -> AsyncGenerator[ItemT, None]:
        """Iterate over what a blocking function returns; each step runs in a thread.

        When the consumer stops, the iterator is closed after the step that is running.
        """
        items = await self.run_call(function, *args, **kwargs)
        step: Future[ItemT] | None = None
        try:
            while True:
                step = self._start(self._streams, partial(next, items, _END))
                if (item := await asyncio.wrap_future(step)) is _END:
                    return
                yield item
        finally:
            if step is not None:
                step.add_done_callback(partial(self._close_iterator, items))

    def check_open(self) -> None:
        """Raise ClientClosed after `close`."""
        if self._is_closed:
            raise ClientClosed

    def close(self) -> None:
        """Take no more calls. Those that were taken are made, and each thread ends after its last one."""
        self._is_closed = True
        self._calls.shutdown(wait=False)
        self._streams.shutdown(wait=False)

    def _start(self, pool: ThreadPoolExecutor, function: Callable[[], CallR]) -> Future[CallR]:
        self.check_open()
        return pool.submit(contextvars.copy_context().run, function)

    def _close_iterator(self, items: Iterator[Any], _step: Future[Any]) -> None:
        if (close := getattr(items, "close", None)) is not None:
            with suppress(
                RuntimeError
            ):  # the threads have ended: the iterator is closed when it is collected
                self._streams.submit(close)

"""Asynchronous methods made of blocking ones, and the threads in which they run.

    class AsyncSchedules(AsyncWrapper[Schedules]):
        pause = async_method(Schedules.pause)

The method has the name, the parameters and the documentation of `Schedules.pause`, for type checkers and for
`help()`. A client has a limited number of its own threads, and does not use those of the event loop.
"""

from __future__ import annotations

import asyncio
import contextvars
import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from concurrent.futures import Future, ThreadPoolExecutor
from contextlib import aclosing, suppress
from functools import partial, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from ...jobs.blocking import note_caller
from ...models.errors import ClientClosed
from ...state.streams.hub import StreamHubs

CallP = ParamSpec("CallP")
CallR = TypeVar("CallR")
ItemT = TypeVar("ItemT")

#: Result of `next` at the end of an iterator.
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
        #: Readers of live sessions, which need no thread.
        self.hubs = StreamHubs()

    async def run_call(
        self, function: Callable[CallP, CallR], /, *args: CallP.args, **kwargs: CallP.kwargs
    ) -> CallR:
        """Call a blocking function in a thread. It runs to its end, even if the waiting task is cancelled."""
        return await asyncio.wrap_future(self._start(self._calls, partial(function, *args, **kwargs)))

    async def run_iterator(
        self, function: Callable[CallP, Iterator[ItemT]], /, *args: CallP.args, **kwargs: CallP.kwargs
    ) -> AsyncGenerator[ItemT, None]:
        """Iterate over the iterator that a blocking function returns; each step runs in a thread.

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
        """Refuse further calls. Accepted calls are executed, and each thread ends after its last one."""
        self._is_closed = True
        self._calls.shutdown(wait=False)
        self._streams.shutdown(wait=False)

    def _start(self, pool: ThreadPoolExecutor, function: Callable[[], CallR]) -> Future[CallR]:
        self.check_open()
        context = contextvars.copy_context()
        context.run(note_caller)
        return pool.submit(context.run, function)

    def _close_iterator(self, items: Iterator[Any], _step: Future[Any]) -> None:
        if (close := getattr(items, "close", None)) is not None:
            with suppress(
                RuntimeError
            ):  # the threads have ended: the iterator is closed when it is collected
                self._streams.submit(close)


P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])


class AsyncWrapper(Generic[S]):
    """An object whose methods are asynchronous versions of those of a blocking object.

    Args:
        blocking: Returns the blocking object. It is called in a thread.
        threads: Where blocking calls are made.
    """

    def __init__(self, blocking: Callable[[], S], threads: CallThreads) -> None:
        self._blocking = blocking
        self._threads = threads


def async_method(
    verb: Callable[Concatenate[Any, P], R],
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, R]]:
    """Return the asynchronous version of a method."""
    return converting_method(verb, lambda value, _threads: value)


def converting_method(
    verb: Callable[Concatenate[Any, P], R], convert: Callable[[R, CallThreads], T], returns: str | None = None
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return the asynchronous version of a method, with a converted return value.

    Args:
        verb: The blocking method.
        convert: Returns the asynchronous object for a value.
        returns: The return annotation that `help()` shows. None: that of the method.
    """

    @document_as(verb, returns)
    async def twin(self: AsyncWrapper[Any], /, *args: P.args, **kwargs: P.kwargs) -> T:
        # By its name: the object may be of a subclass.
        call = partial(_call, self._blocking, verb.__name__, args, kwargs)
        return convert(await self._threads.run_call(call), self._threads)

    return twin


def async_iterator(
    verb: Callable[Concatenate[Any, P], Iterator[T]],
) -> Callable[Concatenate[Any, P], AsyncGenerator[T, None]]:
    """Return the asynchronous version of a method that returns an iterator."""

    @document_as(verb, _streaming(verb))
    async def twin(self: AsyncWrapper[Any], /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        items = self._threads.run_iterator(partial(_call, self._blocking, verb.__name__, args, kwargs))
        async with aclosing(items):
            async for item in items:
                yield item

    return twin


def document_as(verb: Callable[..., Any], returns: str | None = None) -> Callable[[Method], Method]:
    """Return a decorator that gives a method the name, the parameters and the documentation of another.

    Args:
        verb: The blocking method.
        returns: The return annotation that `help()` shows. None: that of the method.
    """

    def decorate(twin: Method) -> Method:
        shown = inspect.signature(verb)
        update_wrapper(twin, verb)
        if returns is not None:
            twin.__signature__ = shown.replace(return_annotation=returns)  # type: ignore[attr-defined]
        return twin

    return decorate


def _streaming(verb: Callable[..., Any]) -> str:
    return str(inspect.signature(verb).return_annotation).replace("Iterator[", "AsyncIterator[")


def _call(blocking: Callable[[], object], name: str, args: Any, kwargs: Any) -> Any:
    return getattr(blocking(), name)(*args, **kwargs)

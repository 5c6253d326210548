"""Twins of blocking verbs: the same name, parameters and documentation, to be awaited.

    class AsyncSchedules(Asynchronous[Schedules]):
        pause = awaited(Schedules.pause)

A type checker sees a method with the parameters of `Schedules.pause`, and so does `help()`.
"""

from __future__ import annotations

import inspect
from collections.abc import AsyncGenerator, Callable, Coroutine, Iterator
from contextlib import aclosing
from functools import partial, update_wrapper
from typing import Any, Concatenate, Generic, ParamSpec, TypeVar

from .threads import CallThreads

P = ParamSpec("P")
R = TypeVar("R")
S = TypeVar("S")
T = TypeVar("T")
Method = TypeVar("Method", bound=Callable[..., Any])


class AsyncWrapper(Generic[S]):
    """An object whose verbs are twins of those of a blocking object.

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
    """Return the twin of a verb."""
    return converting_method(verb, lambda value, _threads: value)


def converting_method(
    verb: Callable[Concatenate[Any, P], R], convert: Callable[[R, CallThreads], T], returns: str | None = None
) -> Callable[Concatenate[Any, P], Coroutine[Any, Any, T]]:
    """Return the twin of a verb whose value is converted.

    Args:
        verb: The blocking verb.
        convert: Makes an asynchronous object of the value.
        returns: The return annotation that `help()` shows. None: that of the verb.
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
    """Return the twin of a verb that streams."""

    @document_as(verb, _streaming(verb))
    async def twin(self: AsyncWrapper[Any], /, *args: P.args, **kwargs: P.kwargs) -> AsyncGenerator[T, None]:
        items = self._threads.run_iterator(partial(_call, self._blocking, verb.__name__, args, kwargs))
        async with aclosing(items):
            async for item in items:
                yield item

    return twin


def document_as(verb: Callable[..., Any], returns: str | None = None) -> Callable[[Method], Method]:
    """Return a decorator that gives a twin the name, the parameters and the documentation of a verb.

    Args:
        verb: The blocking verb.
        returns: The return annotation that `help()` shows. None: that of the verb.
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

"""Agents that are Python callables: `module:name`, sync or async, called with a `TurnContext`.

The callable returns text (one message), a `TurnOutcome`, data (a pydantic model, a dictionary or a list, which
becomes the output of the turn), or None (a pass). It may also yield its text, return an iterator of it, or write it with
`turn.write`: followers see each piece at once, and the whole text is the message. An async callable runs on the
event loop and must not block it; a sync one runs in a thread. At the deadline the turn ends without its
answer. Its thread cannot be stopped and stays busy until the callable returns.
"""

from __future__ import annotations

import asyncio
import inspect
from collections.abc import AsyncGenerator, AsyncIterator, Callable, Generator, Iterator
from functools import partial
from importlib import import_module

from pydantic import BaseModel, ValidationError

from ..models.errors import AgentError, BadOutcome, invalid_input
from ..models.turns.streaming import TurnOutput, output_of_turn
from ..models.turns.turn import TurnContext, TurnOutcome
from .execution.failures import to_agent_error
from .execution.runner import bad_outcome
from .execution.threads import DaemonThreadPool

AgentCallable = Callable[[TurnContext], object]


class PythonAgent:
    """The agent of a Python callable."""

    #: It uses the live output of its turn, but no other service.
    streams = True

    def __init__(self, function: AgentCallable, *, threads: DaemonThreadPool) -> None:
        self._function = function
        self._threads = threads
        self._is_async = _is_async(function)

    async def speak(self, turn: TurnContext) -> TurnOutcome:
        """Call the function; await it if it is async."""
        if self._is_async:
            answer = self._function(turn)
        else:
            answer = await asyncio.wrap_future(self._threads.submit(partial(self._function, turn)))
        # A sync function may return a coroutine, for example a lambda around an async one.
        return to_outcome(await self._read(await answer if inspect.isawaitable(answer) else answer))

    async def _read(self, answer: object) -> object:
        """Return what was answered; the text of an iterator, or else what was written, if nothing is returned."""
        output = output_of_turn()
        if isinstance(answer, AsyncIterator):
            await _read_async(answer, output)
            answer = None
        elif isinstance(answer, Iterator):
            answer = await asyncio.wrap_future(self._threads.submit(partial(_read_pieces, answer, output)))
        return output.text or None if answer is None else answer


async def _read_async(pieces: AsyncIterator[object], output: TurnOutput) -> None:
    try:
        async for piece in pieces:
            output.write(piece)
    finally:
        if isinstance(pieces, AsyncGenerator):
            await pieces.aclose()


def _read_pieces(pieces: Iterator[object], output: TurnOutput) -> object:
    """Write all pieces; return what a generator returns at its end."""
    try:
        while True:
            try:
                piece = next(pieces)
            except StopIteration as end:
                return end.value
            output.write(piece)
    finally:
        if isinstance(pieces, Generator):
            pieces.close()


def to_outcome(answer: object) -> TurnOutcome:
    """Convert the return value of a callable to an outcome.

    Raises:
        BadOutcome: The value is neither text, nor an outcome, nor data, nor None.
    """
    if answer is None:
        return TurnOutcome.skip_turn()
    if isinstance(answer, TurnOutcome):
        return answer
    if isinstance(answer, BaseModel | dict | list):
        return _outcome_of_data(answer)
    if not isinstance(answer, str):
        raise bad_outcome("outcome", "must be text, a TurnOutcome, a model, a dict, a list or None", answer)
    if not answer.strip():
        raise bad_outcome("outcome", "must not be blank; return None to pass", answer)
    try:
        return TurnOutcome.say(answer)
    except ValidationError:
        raise bad_outcome("outcome", "must be valid UTF-8 text", answer) from None


def _outcome_of_data(data: object) -> TurnOutcome:
    try:
        return TurnOutcome.model_validate({"output": data})
    except ValidationError as error:
        raise BadOutcome(str(invalid_input(error))) from None


def load_callable(path: str) -> AgentCallable:
    """Import the callable at `module:name` (dots allowed on both sides).

    Raises:
        AgentError: Not retryable; the message says what could not be imported and why.
    """
    module, _, name = path.partition(":")
    try:
        found: object = import_module(module)
        for part in name.split("."):
            found = getattr(found, part)
    except Exception as error:
        raise _not_loaded(path, error) from error
    if not callable(found):
        raise _not_loaded(path, TypeError(f"{name} is not callable"))
    return found


def load_form(path: str) -> type[BaseModel]:
    """Import the pydantic model at `module:Class`. Raises AgentError, as `load_callable`."""
    found = load_callable(path)
    if not (isinstance(found, type) and issubclass(found, BaseModel)):
        raise _not_loaded(path, TypeError("is not a pydantic model"))
    return found


def _not_loaded(path: str, error: Exception) -> AgentError:
    import_error = ImportError(f"{path}: {type(error).__name__}: {error}")
    return to_agent_error(import_error, retryable=False, cause=error)


def _is_async(function: AgentCallable) -> bool:
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
    )

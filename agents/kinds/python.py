"""`[agents.NAME] kind = "python"`: a Python callable, `module:name`, sync or async, called with a `TurnContext`.

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
from typing import Literal

from pydantic import BaseModel, ValidationError

from ...models.errors import BadOutcome, invalid_input
from ...models.sessions.limits import SpendingBounds
from ...models.sessions.options import AgentBinding
from ...models.turns.streaming import TurnOutput, output_of_turn
from ...models.turns.turn import TurnContext, TurnOutcome
from ..entry import NO_SPENDING, UNKNOWN_SPENDING, FieldProblem, GuardedEntry, KindEnv, check_import
from ..execution.loading import load_callable
from ..execution.runner import bad_outcome
from ..execution.threads import DaemonThreadPool
from ..tables import CallablePath, Window

#: Package of the built-in reviewers.
_BUILT_IN = "symposia.agents.reviewers."


class PythonEntry(GuardedEntry):
    """The entry of a Python callable."""

    kind: Literal["python"]
    #: `module:name` of a sync or async callable.
    callable: CallablePath
    window: Window = 100

    def create(self, _binding: AgentBinding, env: KindEnv) -> PythonAgent:
        """As in AgentKind."""
        return PythonAgent(load_callable(self.callable), threads=env.threads)

    def spending(self, _binding: AgentBinding, _env: KindEnv) -> SpendingBounds:
        """As in AgentKind: the built-in reviewers call no model."""
        return NO_SPENDING if self.callable.startswith(_BUILT_IN) else UNKNOWN_SPENDING

    def describe(self) -> str:
        """As in AgentKind."""
        return self.callable

    def check(self, _env: KindEnv) -> Iterator[FieldProblem]:
        """As in AgentKind."""
        return check_import(self.callable, "", "callable")


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
        answer: object
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


def _is_async(function: AgentCallable) -> bool:
    while isinstance(function, partial):
        function = function.func
    return inspect.iscoroutinefunction(function) or inspect.iscoroutinefunction(
        getattr(function, "__call__", None)  # noqa: B004 - an object with an async __call__
    )

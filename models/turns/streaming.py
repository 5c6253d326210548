"""Text that an agent writes while it takes its turn: followers see it at once.

A context variable holds it, so that it reaches every kind of agent, blocking callables too. Threads that an agent starts
itself do not have it, unless it runs them in a copy of its context (`contextvars.copy_context`).
"""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from contextvars import ContextVar
from typing import Protocol

from ..errors import AgentFailed, BadOutcome


class OutputListener(Protocol):
    """Receiver of live output. Both methods return at once and never raise."""

    def restart_output(self) -> None:
        """Discard the output so far: it starts again."""
        ...

    def add_output(self, text: str) -> None:
        """Handle the next piece of the output."""
        ...


class TurnOutput:
    """Text that the agent of one turn has written. Its methods may be called from any thread.

    Args:
        listener: Receiver of the text; None: nobody follows.
        max_bytes: Maximum bytes of the message.
    """

    def __init__(self, listener: OutputListener | None, *, max_bytes: int) -> None:
        self._listener = listener
        self._max_bytes = max_bytes
        self._pieces: list[str] = []
        self._chars = 0
        self._is_closed = False

    @property
    def is_followed(self) -> bool:
        """Whether somebody follows, so that agents of libraries should stream."""
        return self._listener is not None

    @property
    def text(self) -> str:
        """The text since the last restart."""
        return "".join(self._pieces)

    def restart(self) -> None:
        """Discard the text so far: it is not part of the message."""
        self._pieces, self._chars = [], 0

    def write(self, text: object) -> None:
        """Add a piece of the message.

        Raises:
            BadOutcome: It is not text, or the message becomes too large.
            AgentFailed: The turn has ended.
        """
        if not isinstance(text, str):
            raise BadOutcome(f"output: must be written as text (got {type(text).__name__})")
        if self._is_closed:
            raise AgentFailed("output: the turn has ended", retryable=False)
        self._chars += len(text)
        if self._chars > self._max_bytes:
            raise BadOutcome(f"output: must be at most {self._max_bytes} bytes")
        if self._listener is not None:
            if not self._pieces:
                self._listener.restart_output()
            # A follower cannot read half a character; `to_outcome` refuses it.
            self._listener.add_output(text.encode(errors="replace").decode())
        self._pieces.append(text)

    def close(self) -> None:
        """Refuse further text: the turn has ended."""
        self._is_closed = True


_output: ContextVar[TurnOutput | None] = ContextVar("symposia_output", default=None)


def output_of_turn() -> TurnOutput:
    """Return the output of the turn in which this code runs; one without followers if it runs in no turn."""
    return _output.get() or TurnOutput(None, max_bytes=2**40)


@contextmanager
def writing_to(output: TurnOutput) -> Iterator[None]:
    """Use an output for what runs in the block, and for blocking callables and tasks that it starts."""
    token = _output.set(output)
    try:
        yield
    finally:
        _output.reset(token)
        output.close()

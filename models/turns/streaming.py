"""Live output of a running turn: what its agent writes, the deltas that followers read, and events of its tool calls.

All of it is for live display only; the message at the end of the turn is the result. A context variable holds the
output, so that it reaches every kind of agent, blocking callables too. Threads that an agent starts itself do not have
it, unless it runs them in a copy of its context (`contextvars.copy_context`). Each delta contains its position, so a
reader that connects late or was disconnected never mixes two attempts, and marks missing text. Arguments of tool calls
are shortened, and without secrets.
"""

from __future__ import annotations

from collections.abc import Iterable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from dataclasses import dataclass
from enum import StrEnum
from typing import Protocol

from pydantic import Field

from ..errors import AgentFailed, BadOutcome
from ..text.json_text import dump_json
from ..text.redact import excerpt, names_secret, scrub_secrets
from .frozen import Frozen


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
        listener: Receiver of the text; None: there is none.
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


#: Placeholder for output that a reader has missed.
MISSED = "…"


class Delta(Frozen):
    """The next words of a running turn."""

    turn_number: int
    participant_id: str
    #: Grant of the turn, from 1; the words of an earlier one will not be written.
    attempt: int
    #: Execution token of that grant.
    token_id: str
    #: Characters of this attempt's output before these; 0: the output starts, or restarts.
    offset: int = Field(ge=0)
    #: Empty, with offset 0: the words of this turn so far will not be written.
    text: str


@dataclass(slots=True)
class LiveDraft:
    """Output of one turn so far."""

    turn_number: int
    participant_id: str
    attempt: int
    text: str = ""
    #: Characters up to which the words are known.
    end: int = 0


class Drafts:
    """Live texts of the running turns, as one reader knows them.

    drafts = Drafts()
    for piece in job.stream():
        if isinstance(piece, Message):
            drafts.remove(piece.turn_number)
        else:
            drafts.add(piece)
        show(*drafts)
    """

    def __init__(self) -> None:
        self._drafts: dict[int, LiveDraft] = {}

    def __iter__(self) -> Iterator[LiveDraft]:
        """Yield the drafts with text, by the number of their turns."""
        return iter([draft for _, draft in sorted(self._drafts.items()) if draft.text])

    def add(self, delta: Delta) -> None:
        """Add the words where they belong; those of a superseded attempt are left out.

        Args:
            delta: A piece of a running turn.
        """
        draft = self._drafts.get(delta.turn_number)
        if draft is None or delta.attempt > draft.attempt:
            draft = self._drafts[delta.turn_number] = LiveDraft(
                delta.turn_number, delta.participant_id, delta.attempt
            )
        if delta.attempt < draft.attempt:
            return
        if delta.offset == 0:
            draft.text, draft.end = "", 0
        gap = MISSED if delta.offset > draft.end else ""
        new_text = delta.text[max(0, draft.end - delta.offset) :]
        draft.text += gap + new_text
        draft.end = max(draft.end, delta.offset + len(delta.text))

    def remove(self, turn_number: int | None) -> None:
        """Remove the draft of a turn, because its message is written.

        Args:
            turn_number: The number of the turn. None changes nothing.
        """
        if turn_number is not None:
            self._drafts.pop(turn_number, None)

    # Earlier names of the methods.
    take = add
    written = remove


#: Maximum characters of the arguments in an event.
MAX_ARGUMENTS = 300
_HIDDEN = "***"


class ToolStatus(StrEnum):
    """Status of a tool call."""

    RUNNING = "running"
    OK = "ok"
    #: The tool asks the model for a corrected call.
    RETRY = "retry"
    #: The call waits for a person.
    WAITING = "waiting"
    ERROR = "error"


class ToolEvent(Frozen):
    """The begin (`running`) or the end of a tool call in a running turn."""

    turn_number: int
    participant_id: str
    #: Grant of the turn, from 1.
    attempt: int
    #: Execution token of that grant.
    token_id: str
    #: The same in both events of a call.
    call_id: str
    #: Name of the tool.
    name: str
    #: JSON, shortened and without secrets.
    arguments: str
    status: ToolStatus
    #: Milliseconds that the call took; None while it is running.
    duration_ms: int | None = None


def shorten_arguments(arguments: object, secrets: Iterable[str]) -> str:
    """Return the arguments of a call as short JSON text without secrets."""
    return excerpt(dump_json(_hide(arguments, tuple(secrets))), MAX_ARGUMENTS)


def _hide(value: object, secrets: tuple[str, ...]) -> object:
    if isinstance(value, Mapping):
        return {
            key: _HIDDEN if names_secret(str(key)) else _hide(item, secrets) for key, item in value.items()
        }
    if isinstance(value, list | tuple):
        return [_hide(item, secrets) for item in value]
    return scrub_secrets(value, secrets) if isinstance(value, str) else value

"""Comparison of two sessions: where their dialogs first differ, their ends, and what they spent."""

from __future__ import annotations

from collections.abc import Iterable
from dataclasses import asdict, dataclass
from itertools import chain, zip_longest
from typing import TYPE_CHECKING

from pydantic import JsonValue

from ..jobs.continuing import earlier_messages
from ..jobs.reading import ReadableJob
from ..models.protocol.collab import CollabStatus
from ..models.protocol.dialog import Message
from ..models.turns.turn import Usage

if TYPE_CHECKING:
    from ..archive.sessions.reader import ArchiveReader


@dataclass(frozen=True, slots=True)
class SessionFigures:
    """One of the two sessions, in figures."""

    id: str
    title: str
    mode: str
    status: CollabStatus
    reason: str
    detail: str
    turns: int
    rounds: int
    messages: int
    usage: Usage

    def to_json(self) -> dict[str, JsonValue]:
        """Return the figures as JSON data."""
        return {**asdict(self), "status": self.status.value, "usage": self.usage.to_json_data()}


@dataclass(frozen=True, slots=True)
class DialogDifference:
    """The first message in which two dialogs differ."""

    #: Position in the dialog with its history, from 1.
    position: int
    #: The message of each session; None: the dialog has ended before.
    first: Message | None
    second: Message | None

    def to_json(self) -> dict[str, JsonValue]:
        """Return the difference as JSON data."""
        return {
            "position": self.position,
            "first": _message_json(self.first),
            "second": _message_json(self.second),
        }


@dataclass(frozen=True, slots=True)
class SessionComparison:
    """Two sessions side by side."""

    first: SessionFigures
    second: SessionFigures
    #: None: both dialogs have the same messages.
    difference: DialogDifference | None

    @property
    def is_same(self) -> bool:
        """Whether dialog, status and reason of the end are the same; usage may differ."""
        first, second = self.first, self.second
        return self.difference is None and (first.status, first.reason) == (second.status, second.reason)

    def to_json(self) -> dict[str, JsonValue]:
        """Return the comparison as JSON data."""
        return {
            "same": self.is_same,
            "first": self.first.to_json(),
            "second": self.second.to_json(),
            "difference": None if self.difference is None else self.difference.to_json(),
        }


def compare_jobs(first: ReadableJob, second: ReadableJob, reader: ArchiveReader | None) -> SessionComparison:
    """Compare two sessions, live or archived, as they are now, with the messages of their histories."""
    figures = _figures(first), _figures(second)
    dialogs = (chain(earlier_messages(job, reader), job.messages()) for job in (first, second))
    return SessionComparison(*figures, find_difference(*dialogs))


def find_difference(first: Iterable[Message], second: Iterable[Message]) -> DialogDifference | None:
    """Return the first message that has another speaker, role or text; None: there is none."""
    for position, (one, other) in enumerate(zip_longest(first, second), 1):
        if one is None or other is None or _identity(one) != _identity(other):
            return DialogDifference(position, one, other)
    return None


def _identity(message: Message) -> tuple[str | None, str, str]:
    return message.author, message.role.value, message.content


def _figures(job: ReadableJob) -> SessionFigures:
    state, collab = job.state(), job.collab()
    return SessionFigures(
        id=job.id,
        title=collab.title,
        mode=collab.mode.value,
        status=state.status,
        reason=state.reason or "",
        detail=state.detail or "",
        turns=state.closed,
        rounds=state.rounds,
        messages=state.messages,
        usage=state.usage,
    )


def _message_json(message: Message | None) -> JsonValue:
    if message is None:
        return None
    return {
        "turn": message.turn_number,
        "speaker": message.author,
        "role": message.role.value,
        "content": message.content,
    }

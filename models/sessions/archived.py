"""Data of a session for the archive, and its archived progress: values between the live state and SQL."""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import NamedTuple

#: (id of the stream entry, JSON)
Entry = tuple[str, str]


class StreamPositions(NamedTuple):
    """The newest archived entry of each of a session's streams, by its id."""

    dialog: str = "0-0"
    events: str = "0-0"
    journal: str = "0-0"


STREAM_STARTS = StreamPositions()


@dataclass(frozen=True, slots=True)
class Snapshot:
    """The hashes of a session at one instant, as in Redis; enough to restore the session."""

    #: The session hash without `collab` and `spec`.
    fields: Mapping[str, str]
    turns: Mapping[str, str]
    board: Mapping[str, str]


@dataclass(frozen=True, slots=True)
class Documents:
    """The documents of a session (collab and spec), as JSON."""

    collab: str
    spec: str


@dataclass(frozen=True, slots=True)
class ArchivePage:
    """Entries after `since`. With a snapshot they are complete as of its instant; without, more follow."""

    session_id: str
    #: Distinguishes sessions that had the same id, one after the other.
    opened_ms: int
    documents: Documents
    since: StreamPositions
    dialog: tuple[Entry, ...] = ()
    events: tuple[Entry, ...] = ()
    journal: tuple[Entry, ...] = ()
    snapshot: Snapshot | None = None

    @property
    def size(self) -> int:
        """Number of characters of the entries."""
        return sum(len(text) for stream in (self.dialog, self.events, self.journal) for _, text in stream)

    @property
    def until(self) -> StreamPositions:
        """Stream positions after this page is archived."""
        return StreamPositions(
            _last(self.dialog, self.since.dialog),
            _last(self.events, self.since.events),
            _last(self.journal, self.since.journal),
        )


class ArchiveProgress(NamedTuple):
    """Archived progress of a session."""

    opened_ms: int = 0
    #: `updated_ms` of the newest snapshot.
    updated_ms: int = 0
    marks: StreamPositions = STREAM_STARTS


def _last(entries: tuple[Entry, ...], before: str) -> str:
    return entries[-1][0] if entries else before

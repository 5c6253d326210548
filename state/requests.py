"""What the store is asked to write, as values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import JsonValue

from ..models.collab import Collab
from ..models.limits import Wish
from ..models.turn import OutcomeKind, Usage
from .accounts import Accounts


@dataclass(frozen=True, slots=True)
class Opening:
    """A session to be made."""

    collab: Collab
    #: The `SessionSpec`, as JSON.
    spec: str
    #: Tells the same submission again from another one under the same id.
    digest: str
    #: JSON messages the dialog starts with.
    messages: tuple[str, ...] = ()
    #: Seconds the session may take by the wall clock; None: no limit.
    deadline_s: float | None = None
    #: Its keys wait for an archive before they expire.
    archived: bool = False


class Note(NamedTuple):
    """An embedded event that a turn leaves in the journal of its session."""

    #: Such as `turn.failed`.
    event_type: str
    #: JSON data without empty arrays, which Lua would make objects.
    data: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class Speech:
    """What a turn wants written."""

    kind: OutcomeKind
    #: The `TurnResult`, as JSON.
    result: str
    #: What this attempt has spent ...
    usage: Usage = field(default_factory=Usage)
    #: ... and others that it has found, by their tokens.
    others: Accounts = field(default_factory=dict)
    #: Messages the agent left out for want of room.
    left_out: int = 0
    error: str = ""
    #: JSON messages.
    messages: tuple[str, ...] = ()
    #: For the journal.
    notes: tuple[Note, ...] = ()


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's wish to speak a turn."""

    number: int
    scope: str
    #: The execution token: a new UUID for every wish.
    token: str
    lease_ms: int
    timeout_ms: int
    #: How many of the newest messages the agent wants to see.
    window: int
    task_id: str
    parent_id: str = ""
    #: What it may come to spend, in a session with limits.
    wish: Wish | None = None
    #: Whether its tenant and its model let it speak now; otherwise it is told what is due, and granted nothing.
    admitted: bool = True


def write_notes(notes: Sequence[Note]) -> str:
    """Return notes as scripts read them; empty: none."""
    return json.dumps(notes) if notes else ""

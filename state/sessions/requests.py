"""Arguments of the store's verbs, as values."""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import NamedTuple

from pydantic import JsonValue

from ...models.protocol.collab import Collab
from ...models.sessions.limits import ReservationRequest
from ...models.turns.turn import OutcomeKind, Usage
from .usage_accounts import Accounts


@dataclass(frozen=True, slots=True)
class Opening:
    """A session to be created."""

    collab: Collab
    #: The `SessionSpec`, as JSON.
    spec: str
    #: Digest of the submission, to distinguish a repeated call from another session with the same id.
    digest: str
    #: JSON messages the dialog starts with.
    messages: tuple[str, ...] = ()
    #: Maximum seconds of real time; None: no limit.
    deadline_s: float | None = None
    #: True: its keys wait for an archive before they expire.
    archived: bool = False


class JournalNote(NamedTuple):
    """An embedded event that a turn leaves in the journal of its session."""

    #: Such as `turn.failed`.
    event_type: str
    #: JSON data without empty arrays, which Lua would make objects.
    data: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class TurnOutput:
    """Output of a turn to be written."""

    kind: OutcomeKind
    #: The `TurnResult`, as JSON.
    result: str
    #: Usage of this attempt.
    usage: Usage = field(default_factory=Usage)
    #: Usage of other attempts that it has found, by their tokens.
    others: Accounts = field(default_factory=dict)
    #: Number of messages that the agent left out because of the size limit.
    left_out: int = 0
    error: str = ""
    #: JSON messages.
    messages: tuple[str, ...] = ()
    #: Notes for the journal.
    notes: tuple[JournalNote, ...] = ()


@dataclass(frozen=True, slots=True)
class GrantRequest:
    """A worker's request to run a turn."""

    number: int
    scope: str
    #: The execution token: a new UUID for every request.
    token: str
    lease_ms: int
    timeout_ms: int
    #: Number of the newest messages that the agent wants to see.
    window: int
    task_id: str
    parent_id: str = ""
    #: Maximum spending of the turn, in a session with limits.
    limit_request: ReservationRequest | None = None
    #: Whether its tenant and its model allow it to run now; otherwise only due work is returned, and nothing granted.
    admitted: bool = True


def format_notes(notes: Sequence[JournalNote]) -> str:
    """Return notes as scripts read them; empty: none."""
    return json.dumps(notes) if notes else ""

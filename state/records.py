"""What the verbs answer, as values: the session as it was in the instant of the script.

Nothing here is interpreted: `planner` and `stop` stay the JSON text that their owners wrote.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any

from ..models.collab import CollabStatus
from ..models.dialog import DialogStatus
from ..models.turn import Usage
from .scripts import view_fields


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One record of the turns hash."""

    number: int
    participant: str
    scope: str
    #: planned | speaking | held | closed | dropped
    status: str
    #: Fencing number of the newest grant; 0 before the first.
    fence: int = 0
    grants: int = 0
    failures: int = 0
    dispatches: int = 0
    #: Task id of the task that planned this turn.
    parent: str | None = None
    #: Milliseconds since the epoch, by the server's clock, at which the newest grant began.
    began_ms: int | None = None
    #: The `PlannedTurn`, as JSON; gone once the turn has closed.
    plan: str | None = None
    #: The `TurnResult`, as JSON; there once the turn has closed.
    result: str | None = None

    @property
    def is_open(self) -> bool:
        """Still to be spoken or settled."""
        return self.status not in ("closed", "dropped")


@dataclass(frozen=True, slots=True)
class SessionState:
    """A view of a session: O(open turns), whatever the length of its dialog."""

    status: CollabStatus
    dialog_status: DialogStatus
    #: The server's clock when the view was taken, milliseconds since the epoch.
    now_ms: int
    #: Counts plans; a plan made for one version applies to no other.
    version: int
    closed: int
    next_number: int
    fence: int
    rounds: int
    ends_round: bool
    planner: str
    stop: str
    usage: Usage
    messages: int
    opened_ms: int
    updated_ms: int
    ended_ms: int | None
    deadline_ms: int | None
    stop_requested: bool
    #: Id of the newest plan, chosen by whoever made it.
    planned_by: str | None
    reason: str | None
    detail: str | None
    records: dict[int, TurnRecord] = field(default_factory=dict)

    @property
    def is_final(self) -> bool:
        """Completed or cancelled: nothing more will be written."""
        return self.status in (CollabStatus.COMPLETED, CollabStatus.CANCELLED)

    def open_turns(self) -> list[TurnRecord]:
        """Turns planned, speaking or held, by number."""
        return [r for _, r in sorted(self.records.items()) if r.is_open]

    def unconsumed(self) -> list[TurnRecord]:
        """Turns closed since the last plan, by number."""
        return [r for _, r in sorted(self.records.items()) if r.status == "closed"]


@dataclass(frozen=True, slots=True)
class Grant:
    """The right to speak one turn: valid while its lease is renewed."""

    number: int
    scope: str
    token: str
    fence: int
    #: 1 for the first grant of this turn.
    grants: int
    #: Failures of the agent in this seat so far.
    failures: int
    #: Agent that replaces the participant's own after it failed for good.
    substitute: str | None
    #: The dialog window as JSON messages, oldest first.
    messages: tuple[str, ...]


@dataclass(frozen=True, slots=True)
class Answer:
    """A verb's answer: its word, the view taken with it where there is one, and what else it says."""

    word: str
    state: SessionState | None = None
    #: Numbers of turns just planned, or owed to the queue.
    numbers: tuple[int, ...] = ()
    grant: Grant | None = None
    #: When the sweep should look again, or a failed turn may be tried again (milliseconds since the epoch).
    due_ms: int | None = None
    #: A step that is complete has not been planned on.
    advance: bool = False


def _optional_int(value: str | None) -> int | None:
    return None if value is None else int(value)


def read_records(flat: Sequence[str]) -> dict[int, TurnRecord]:
    """Records out of the flat field/value list of the turns hash."""
    fields = dict(zip(flat[::2], flat[1::2], strict=True))
    records = {}
    for name, raw in fields.items():
        if ":" in name:
            continue
        data: dict[str, Any] = json.loads(raw)
        number = int(name)
        records[number] = TurnRecord(
            number=number,
            participant=data["participant"],
            scope=data["scope"],
            status=data["status"],
            fence=data.get("fence", 0),
            grants=data["grants"],
            failures=data["failures"],
            dispatches=data["dispatches"],
            parent=data.get("parent"),
            began_ms=data.get("began_ms"),
            plan=fields.get(f"{name}:plan"),
            result=fields.get(f"{name}:result"),
        )
    return records


def read_state(now_ms: int, values: Sequence[str | None], flat: Sequence[str]) -> SessionState:
    """A view as `_lib.lua` answers it."""
    get = dict(zip(view_fields(), values, strict=True)).get
    return SessionState(
        status=CollabStatus(get("status") or ""),
        dialog_status=DialogStatus(get("dialog_status") or ""),
        now_ms=now_ms,
        version=int(get("version") or 0),
        closed=int(get("closed") or 0),
        next_number=int(get("next") or 1),
        fence=int(get("fence") or 0),
        rounds=int(get("rounds") or 0),
        ends_round=get("ends_round") == "1",
        planner=get("planner") or "{}",
        stop=get("stop") or "{}",
        usage=Usage.model_construct(
            input_tokens=int(get("input_tokens") or 0),
            output_tokens=int(get("output_tokens") or 0),
            requests=int(get("requests") or 0),
            cost_micros=int(get("cost_micros") or 0),
        ),
        messages=int(get("messages") or 0),
        opened_ms=int(get("opened_ms") or 0),
        updated_ms=int(get("updated_ms") or 0),
        ended_ms=_optional_int(get("ended_ms")),
        deadline_ms=_optional_int(get("deadline_ms")),
        stop_requested=get("stop_requested") == "1",
        planned_by=get("planned_by"),
        reason=get("reason"),
        detail=get("detail"),
        records=read_records(flat),
    )

"""One turn as the turns hash holds it, see `_lib.lua`."""

from __future__ import annotations

import json
from collections.abc import Mapping
from dataclasses import dataclass
from typing import Any, NamedTuple


@dataclass(frozen=True, slots=True)
class Parking:
    """What the record of a parked turn says besides; times in milliseconds since the epoch, by the server's clock."""

    #: Whoever knows it may answer.
    reply_token: str
    parked_ms: int
    #: When the wait is over; None: when the session is.
    until_ms: int | None
    #: When a worker is to look at it.
    wake_ms: int


class Amounts(NamedTuple):
    """Tokens, and millionths of a US dollar."""

    tokens: int = 0
    cost: int = 0


NOTHING = Amounts()


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One record of the turns hash."""

    number: int
    participant: str
    scope: str
    #: planned | speaking | parked | held | closed | dropped
    status: str
    #: Execution token of the newest grant.
    token: str | None = None
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
    #: Agent that took the seat over from the participant's own.
    agent: str | None = None
    #: What it holds of the session's limits, and what of that earlier attempts have spent.
    reserved: Amounts = NOTHING
    kept: Amounts = NOTHING
    #: What it waits to be given; None: it does not wait.
    short: Amounts | None = None
    #: Set while the turn is parked.
    parking: Parking | None = None
    #: What it waits for and what was answered so far (a `Waiting`), as JSON; for a turn that was parked.
    wait: str | None = None

    @property
    def is_open(self) -> bool:
        """Still to be spoken or settled."""
        return self.status not in ("closed", "dropped")


def read_records(turns: Mapping[str, str]) -> dict[int, TurnRecord]:
    """Records out of the turns hash, by number, in that order."""
    records = {}
    for number in sorted(int(name) for name in turns if ":" not in name):
        name = str(number)
        data: dict[str, Any] = json.loads(turns[name])
        records[number] = TurnRecord(
            number=number,
            participant=data["participant"],
            scope=data["scope"],
            status=data["status"],
            token=data.get("token"),
            fence=data.get("fence", 0),
            grants=data["grants"],
            failures=data["failures"],
            dispatches=data["dispatches"],
            parent=data.get("parent"),
            began_ms=data.get("began_ms"),
            plan=turns.get(f"{name}:plan"),
            result=turns.get(f"{name}:result"),
            agent=data.get("agent"),
            reserved=_amounts(data, "reserved"),
            kept=_amounts(data, "kept"),
            short=_amounts(data, "short") if _is_short(data) else None,
            parking=_parking(data) if data["status"] == "parked" else None,
            wait=turns.get(f"{name}:wait"),
        )
    return records


def _parking(data: Mapping[str, Any]) -> Parking:
    return Parking(data["reply"], data["parked_ms"], data.get("until_ms"), data["wake_ms"])


def _is_short(data: Mapping[str, Any]) -> bool:
    return data["status"] == "planned" and ("short_tokens" in data or "short_cost" in data)


def _amounts(data: Mapping[str, Any], kind: str) -> Amounts:
    return Amounts(data.get(f"{kind}_tokens", 0), data.get(f"{kind}_cost", 0))

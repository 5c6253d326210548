"""Records of the turns hash, with the usage accounts of each turn's attempts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass, field
from functools import lru_cache
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict
from pydantic_core import to_json

from ...models.errors import CorruptSession
from ...models.turns.turn import MOST_SPENT, Usage
from ..redis.readers import converting_to_corrupt

#: Usage of each attempt by its token.
Accounts = Mapping[str, Usage]
_NOTHING = Usage()


def format_accounts(accounts: Accounts) -> bytes:
    """Return accounts in the format that scripts read.

    Empty accounts are left out, and amounts are capped so that no counter overflows.
    """
    amounts = {token: [min(amount, MOST_SPENT) for _, amount in usage] for token, usage in accounts.items()}
    return to_json({token: row for token, row in amounts.items() if any(row)})


def read_amounts(amounts: Sequence[int]) -> Usage:
    """Return the usage from a script's amounts, which have the order of `AMOUNTS` in `lua/lib/accounts.lua`."""
    return Usage(**dict(zip(Usage.model_fields, amounts, strict=True))) if any(amounts) else _NOTHING


def sum_usage(usages: Iterable[Usage]) -> Usage:
    """Return the sum of all usages."""
    return sum(usages, Usage())


@dataclass(frozen=True, slots=True)
class ParkingState:
    """Further fields of a parked turn; times in milliseconds since the epoch, by the server's clock."""

    #: Secret that permits an answer.
    reply_token: str
    parked_ms: int
    #: Deadline of the answer; None: the end of the session.
    until_ms: int | None
    #: Time of the next check by a worker.
    wake_ms: int


@dataclass(frozen=True, slots=True)
class ParkedBy:
    """The Celery task that parked a turn."""

    task_id: str
    #: Name of the worker that ran it.
    worker: str


class Amounts(NamedTuple):
    """Tokens, and millionths of a US dollar."""

    tokens: int = 0
    cost: int = 0


NOTHING = Amounts()

_NUMBER = re.compile(r"[1-9][0-9]{0,14}")


@dataclass(frozen=True, slots=True)
class TurnRecord:
    """One record of the turns hash."""

    number: int
    participant: str
    scope: str
    #: `planned`, `speaking`, `parked`, `held`, `closed` or `dropped`.
    status: str
    #: Execution token of the newest grant.
    token: str | None = None
    #: Fencing number of the newest grant; 0 before the first.
    fence: int = 0
    grants: int = 0
    failures: int = 0
    dispatches: int = 0
    #: Id of the Celery task that planned this turn.
    parent: str | None = None
    #: Start of the newest grant, in milliseconds since the epoch by the server's clock.
    began_ms: int | None = None
    #: Time since which a message of the turn waits for a worker (milliseconds since the epoch); None: no
    #: message.
    queued_ms: int | None = None
    #: Milliseconds for which a message of the turn waited for a worker before the newest grant; None: no message waited.
    waited_ms: int | None = None
    #: The `PlannedTurn`, as JSON; removed when the turn has closed.
    plan: str | None = None
    #: The `TurnResult`, as JSON; present when the turn has closed.
    result: str | None = None
    #: Agent that replaces the participant's own.
    agent: str | None = None
    #: Its reservation of the session's limits.
    reserved: Amounts = NOTHING
    #: Booked usage of its attempts by their tokens.
    spent: Accounts = field(default_factory=dict)
    #: Reservation that it waits for; None: it does not wait.
    short: Amounts | None = None
    #: Agent of the turn that no worker can run; None: a worker can, as far as is known.
    lacks: str | None = None
    #: State of the parking; None: the turn is not parked.
    parking: ParkingState | None = None
    #: Sub-session that the turn waits for, or waited for when it was dropped.
    child: str | None = None
    #: Celery task that parked the turn; None: the turn does not wait, and did not wait when it was dropped.
    parked_by: ParkedBy | None = None
    #: Question and answers so far (a `ParkedQuestion`) of a turn that was parked, as JSON.
    wait: str | None = None
    #: Process of the worker that has the newest grant; None: unknown.
    process: str | None = None

    @property
    def is_open(self) -> bool:
        """Return whether the turn is not run or not written yet."""
        return self.status not in ("closed", "dropped")


class _Stored(BaseModel):
    """A record as stored in the hash. Only scripts use its other fields."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    participant: str
    scope: str
    status: Literal["planned", "speaking", "parked", "held", "closed", "dropped"]
    token: str | None = None
    fence: int = 0
    grants: int
    failures: int
    dispatches: int
    parent: str | None = None
    began_ms: int | None = None
    queued_ms: int | None = None
    waited_ms: int | None = None
    agent: str | None = None
    reserved_tokens: int = 0
    reserved_cost: int = 0
    #: Accounts: token -> amounts.
    spent: dict[str, tuple[int, int, int, int, int]] = {}
    short_tokens: int | None = None
    short_cost: int | None = None
    lacks: str | None = None
    reply: str | None = None
    parked_ms: int | None = None
    until_ms: int | None = None
    wake_ms: int | None = None
    child: str | None = None
    task: str = ""
    worker: str = ""
    process: str = ""

    @property
    def process_of_token(self) -> str | None:
        token, _, process = self.process.partition(" ")
        return process if token == self.token else None

    @property
    def short(self) -> Amounts | None:
        if self.status != "planned" or (self.short_tokens is None and self.short_cost is None):
            return None
        return Amounts(self.short_tokens or 0, self.short_cost or 0)

    @property
    def parking(self) -> ParkingState | None:
        if self.status != "parked" or self.reply is None or self.parked_ms is None or self.wake_ms is None:
            return None
        return ParkingState(self.reply, self.parked_ms, self.until_ms, self.wake_ms)


class TurnRecords(Mapping[int, TurnRecord]):
    """Records of the turns hash in the order of their numbers, parsed on access.

    Raises CorruptSession at once for an invalid number, and on access for an invalid record.
    """

    __slots__ = ("_numbers", "_read", "_session_id", "_turns")

    def __init__(self, session_id: str, turns: Mapping[str, str]) -> None:
        self._session_id = session_id
        self._turns = turns
        self._numbers = sorted(_numbers(session_id, turns))
        self._read: dict[int, TurnRecord] = {}

    def __getitem__(self, number: int) -> TurnRecord:
        if number not in self._read:
            if number not in self._numbers:
                raise KeyError(number)
            self._read[number] = _record(self._session_id, self._turns, number)
        return self._read[number]

    def __iter__(self) -> Iterator[int]:
        return iter(self._numbers)

    def __len__(self) -> int:
        return len(self._numbers)


def _numbers(session_id: str, turns: Mapping[str, str]) -> Iterator[int]:
    for name in turns:
        if ":" not in name:
            if not _NUMBER.fullmatch(name):
                raise CorruptSession(session_id, part="turns", detail=f"{name[:80]!r} is not a turn number")
            yield int(name)


def _record(session_id: str, turns: Mapping[str, str], number: int) -> TurnRecord:
    part = f"turn {number}"
    with converting_to_corrupt(session_id, part):
        stored = _read_stored_record(turns[str(number)])
    if stored.status == "parked" and stored.parking is None:
        raise CorruptSession(session_id, part=part, detail="it is parked without a parking time")
    return TurnRecord(
        number=number,
        participant=stored.participant,
        scope=stored.scope,
        status=stored.status,
        token=stored.token,
        fence=stored.fence,
        grants=stored.grants,
        failures=stored.failures,
        dispatches=stored.dispatches,
        parent=stored.parent,
        began_ms=stored.began_ms,
        queued_ms=stored.queued_ms,
        waited_ms=stored.waited_ms,
        plan=turns.get(f"{number}:plan"),
        result=turns.get(f"{number}:result"),
        agent=stored.agent,
        reserved=Amounts(stored.reserved_tokens, stored.reserved_cost),
        spent={token: read_amounts(row) for token, row in stored.spent.items()},
        short=stored.short,
        lacks=stored.lacks,
        parking=stored.parking,
        child=stored.child,
        parked_by=ParkedBy(stored.task, stored.worker) if stored.task else None,
        wait=turns.get(f"{number}:wait"),
        process=stored.process_of_token,
    )


# Consecutive views of a session contain the same records, except for those of the turns that began or ended.
@lru_cache(maxsize=1_024)
def _read_stored_record(text: str) -> _Stored:
    return _Stored.model_validate_json(text)

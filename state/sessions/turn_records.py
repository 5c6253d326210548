"""Records of the turns hash, with the usage accounts of each turn's attempts."""

from __future__ import annotations

import re
from collections.abc import Iterable, Iterator, Mapping, Sequence
from dataclasses import dataclass
from functools import lru_cache
from typing import Literal, NamedTuple

from pydantic import BaseModel, ConfigDict, Field
from pydantic_core import to_json

from ...models.errors import CorruptSession
from ...models.turns.turn import MAX_SPENT, NO_USAGE, Usage
from ..redis.readers import converting_to_corrupt

#: Usage of each attempt by its token.
Accounts = Mapping[str, Usage]


def format_accounts(accounts: Accounts) -> bytes:
    """Return accounts in the format that scripts read.

    Empty accounts are left out, and amounts are capped so that no counter overflows.
    """
    amounts = {token: [min(amount, MAX_SPENT) for _, amount in usage] for token, usage in accounts.items()}
    return to_json({token: row for token, row in amounts.items() if any(row)})


def read_amounts(amounts: Sequence[int]) -> Usage:
    """Return the usage from a script's amounts, which have the order of `AMOUNTS` in `lua/lib/accounts.lua`."""
    return Usage(**dict(zip(Usage.model_fields, amounts, strict=True))) if any(amounts) else NO_USAGE


def sum_usage(usages: Iterable[Usage]) -> Usage:
    """Return the sum of all usages."""
    return sum(usages, NO_USAGE)


@dataclass(frozen=True, slots=True)
class Parking:
    """Further fields of a parked turn; times in milliseconds since the epoch, by the server's clock."""

    #: Secret that permits an answer.
    reply_token: str
    parked_ms: int
    #: Deadline of the answer; None: the end of the session.
    until_ms: int | None
    #: Time of the next check by a worker.
    wake_ms: int


@dataclass(frozen=True, slots=True)
class TaskInfo:
    """A Celery task that runs a turn, or has parked it."""

    id: str
    #: Name of the worker that runs it.
    worker: str = ""
    #: Id of the Celery task that sent it; None: unknown.
    parent: str | None = None


class Amounts(NamedTuple):
    """Tokens, and millionths of a US dollar."""

    tokens: int = 0
    cost: int = 0


NOTHING = Amounts()

_NUMBER = re.compile(r"[1-9][0-9]{0,14}")
#: Maximum characters of a record that is remembered.
_MAX_REMEMBERED = 4_000


class TurnRecord(BaseModel):
    """One turn of the turns hash; times in milliseconds since the epoch. Only scripts use its other fields."""

    model_config = ConfigDict(frozen=True, defer_build=True)

    participant: str
    scope: str
    status: Literal["planned", "speaking", "parked", "held", "closed", "dropped"]
    #: Execution token of the newest grant.
    token: str | None = None
    #: Fencing number of the newest grant; 0 before the first.
    fence: int = 0
    grants: int
    failures: int
    dispatches: int
    #: Id of the Celery task that planned this turn.
    parent: str | None = None
    #: Start of the newest grant.
    began_ms: int | None = None
    #: Time since which a message of the turn waits for a worker; None: no message.
    queued_ms: int | None = None
    #: Milliseconds for which a message of the turn waited for a worker before the newest grant; None: no message waited.
    waited_ms: int | None = None
    #: Agent that replaces the participant's own.
    agent: str | None = None
    reserved_tokens: int = 0
    reserved_cost: int = 0
    #: Accounts: token -> amounts.
    stored_spent: dict[str, tuple[int, int, int, int, int]] = Field(default={}, alias="spent")
    short_tokens: int | None = None
    short_cost: int | None = None
    #: Agent of the turn that no worker can run; None: a worker can, as far as is known.
    lacks: str | None = None
    reply: str | None = None
    parked_ms: int | None = None
    until_ms: int | None = None
    wake_ms: int | None = None
    #: Sub-session that the turn waits for, or waited for when it was dropped.
    child: str | None = None
    #: Handle of the provider's batch that the turn waits for, or waited for when it was dropped.
    batch: str | None = None
    task: str = ""
    worker: str = ""
    #: Token of a grant, and the process of the worker that has it.
    stored_process: str = Field(default="", alias="process")
    #: This field and those below are fields of the hash beside the record.
    number: int = 0
    #: The `PlannedTurn`, as JSON; removed when the turn has closed.
    plan: str | None = None
    #: The `TurnResult`, as JSON; present when the turn has closed.
    result: str | None = None
    #: Question and answers so far (a `ParkedQuestion`) of a turn that was parked, as JSON.
    wait: str | None = None

    @property
    def is_open(self) -> bool:
        """Return whether the turn is not run or not written yet."""
        return self.status not in ("closed", "dropped")

    @property
    def reserved(self) -> Amounts:
        """Return its reservation of the session's limits."""
        return Amounts(self.reserved_tokens, self.reserved_cost)

    @property
    def spent(self) -> Accounts:
        """Return the booked usage of its attempts by their tokens."""
        return {token: read_amounts(row) for token, row in self.stored_spent.items()}

    @property
    def short(self) -> Amounts | None:
        """Return the reservation that it waits for; None: it does not wait."""
        if self.status != "planned" or (self.short_tokens is None and self.short_cost is None):
            return None
        return Amounts(self.short_tokens or 0, self.short_cost or 0)

    @property
    def parking(self) -> Parking | None:
        """Return the state of the parking; None: the turn is not parked."""
        if self.status != "parked" or self.reply is None or self.parked_ms is None or self.wake_ms is None:
            return None
        return Parking(self.reply, self.parked_ms, self.until_ms, self.wake_ms)

    @property
    def parked_by(self) -> TaskInfo | None:
        """Return the Celery task that parked it; None: it does not wait, and did not wait when it was dropped."""
        return TaskInfo(self.task, self.worker) if self.task else None

    @property
    def process(self) -> str | None:
        """Return the process of the worker that has the newest grant; None: unknown."""
        token, _, process = self.stored_process.partition(" ")
        return process if token == self.token else None


class TurnRecords(Mapping[int, TurnRecord]):
    """Records of the turns hash in the order of their numbers, parsed on access.

    Raises CorruptSession at once for an invalid number, and on access for an invalid record.
    """

    __slots__ = ("_all", "_numbers", "_read", "_session_id", "_turns")

    def __init__(self, session_id: str, turns: Mapping[str, str]) -> None:
        self._session_id = session_id
        self._turns = turns
        self._numbers = sorted(_numbers(session_id, turns))
        self._read: dict[int, TurnRecord] = {}
        self._all: tuple[TurnRecord, ...] | None = None

    def __getitem__(self, number: int) -> TurnRecord:
        record = self._read.get(number)
        if record is None:
            if str(number) not in self._turns:
                raise KeyError(number)
            record = self._read[number] = _record(self._session_id, self._turns, number)
        return record

    def all(self) -> tuple[TurnRecord, ...]:
        """Return all records by number; quicker than `values`."""
        if self._all is None:
            self._all = tuple([self[number] for number in self._numbers])
        return self._all

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
    name, part = str(number), f"turn {number}"
    text, plan = turns[name], turns.get(f"{name}:plan")
    result, wait = turns.get(f"{name}:result"), turns.get(f"{name}:wait")
    size = len(text) + len(plan or "") + len(result or "") + len(wait or "")
    read = _remembered_record if size <= _MAX_REMEMBERED else _read_record
    with converting_to_corrupt(session_id, part):
        record = read(number, text, plan, result, wait)
    if record.status == "parked" and record.parking is None:
        raise CorruptSession(session_id, part=part, detail="it is parked without a parking time")
    return record


def _read_record(
    number: int, text: str, plan: str | None, result: str | None, wait: str | None
) -> TurnRecord:
    record = TurnRecord.model_validate_json(text)
    # Changed in place, as no other code has this object yet: `model_copy` would take half as long again as reading it.
    record.__dict__.update(number=number, plan=plan, result=result, wait=wait)
    return record


# Consecutive views of a session contain the same records, except for those of the turns that began or ended.
_remembered_record = lru_cache(maxsize=2_048)(_read_record)

"""What a session left in Redis, and what its agents noted: read raw, without a line of the product.

The names of keys and fields are written out here once more, on purpose: a checker that borrows
the reader of what it checks would share its mistakes.
"""

from __future__ import annotations

import json
from collections import defaultdict
from collections.abc import Callable, Iterable
from dataclasses import dataclass
from datetime import datetime
from functools import cached_property
from itertools import pairwise
from pathlib import Path
from typing import Any

from redis import Redis

#: Sessions that have not ended.
DUE = "symposia:due"
WRITTEN = {"message", "passed", "skipped"}
#: Counters of the session hash; an absent one is 0.
COUNTERS = ("closed", "messages", "input_tokens", "output_tokens", "requests", "cost_micros")


@dataclass(frozen=True, slots=True)
class Entry:
    """One entry of a stream: its time in Redis, its position and its content."""

    at_ms: int
    position: int
    says: dict[str, Any]


@dataclass(frozen=True, slots=True)
class Grant:
    """One turn given to one worker, from a MAPTurnDispatched."""

    number: int
    participant: str
    token: str
    fence: int
    at_ms: int


@dataclass(frozen=True, slots=True)
class Refusal:
    """A commit that came too late, from a MAPConflictDetected."""

    token: str
    at_ms: int


@dataclass(frozen=True, slots=True)
class Closing:
    """What became of a grant, from a MAPTurnCompleted."""

    number: int
    token: str
    outcome: str
    messages: int
    usage: dict[str, int]
    at_ms: int
    retried: bool

    @property
    def is_written(self) -> bool:
        """The turn is closed with it, unlike a grant that was lost or given back."""
        return self.outcome in WRITTEN or (self.outcome == "failed" and not self.retried)


def _entries(raw: Iterable[tuple[str, dict[str, str]]], field: str) -> list[Entry]:
    found = []
    for entry_id, fields in raw:
        ms, _, position = entry_id.partition("-")
        found.append(Entry(int(ms), int(position), json.loads(fields[field])))
    return found


def stamp_ms(text: str) -> int:
    """`2026-11-21T06:53:14.479Z` as milliseconds since the epoch."""
    return round(datetime.fromisoformat(text).timestamp() * 1000)


def bills(journal: Iterable[Entry]) -> list[dict[str, int]]:
    """Return the usage of lost attempts that was reported after the end of their turn."""
    notes = (entry.says for entry in journal)
    return [says["data"]["usage"] for says in notes if says["event_type"] == "turn.spent"]


def _grant(event: dict[str, Any]) -> Grant:
    says = event["payload"]
    at_ms = stamp_ms(event["timestamp"])
    return Grant(says["turn_number"], says["participant_id"], says["token_id"], says["fence"], at_ms)


def _closing(event: dict[str, Any]) -> Closing:
    says, result = event["payload"], event["payload"]["result"]
    return Closing(
        number=says["turn_number"],
        token=says["token_id"],
        outcome=result["outcome"],
        messages=result["messages"],
        usage=result.get("usage") or {},
        at_ms=stamp_ms(event["timestamp"]),
        retried=bool(result.get("retried")),
    )


_READ: dict[str, Callable[[dict[str, Any]], Grant | Closing]] = {
    "MAPTurnDispatched": _grant,
    "MAPTurnCompleted": _closing,
}


class Evidence:
    """One session's keys, read in one go."""

    def __init__(self, redis: Redis, session: str) -> None:
        self.id = session
        names = [
            f"symposia:{{{session}}}:{part}" for part in ("session", "dialog", "events", "journal", "turns")
        ]
        pipe = redis.pipeline(transaction=True)
        pipe.hgetall(names[0])
        for name in names[1:4]:
            pipe.xrange(name)
        pipe.hgetall(names[4])
        pipe.hgetall(f"symposia:{{{session}}}:board")
        for name in names:
            pipe.pttl(name)
        pipe.zscore(DUE, session)
        answers = pipe.execute()
        self.session: dict[str, str] = {**dict.fromkeys(COUNTERS, "0"), **answers[0]} if answers[0] else {}
        self.dialog, self.events, self.journal = (
            _entries(raw, field) for raw, field in zip(answers[1:4], "mee", strict=True)
        )
        self.turns: dict[str, str] = answers[4]
        self.board = {name: json.loads(text) for name, text in answers[5].items() if ":" not in name}
        #: Milliseconds to live by key; -2 is a key that is not there.
        self.ttl_ms: dict[str, int] = dict(zip(names, answers[6:11], strict=True))
        self.is_due = answers[11] is not None

    @cached_property
    def steps(self) -> list[Grant | Closing]:
        """Return dispatches and their results in the order of the stream."""
        return [
            _READ[kind](entry.says) for entry in self.events if (kind := entry.says["event_type"]) in _READ
        ]

    @property
    def grants(self) -> list[Grant]:
        """Return the dispatched turns in order."""
        return [step for step in self.steps if isinstance(step, Grant)]

    @property
    def closings(self) -> list[Closing]:
        """What became of them, in order."""
        return [step for step in self.steps if isinstance(step, Closing)]

    @property
    def written(self) -> list[Closing]:
        """The closings that closed a turn."""
        return [closing for closing in self.closings if closing.is_written]

    @property
    def spoken(self) -> list[Entry]:
        """The messages of turns; those with which a sub-session begins were written in another one."""
        return [entry for entry in self.dialog if "token_id" in entry.says.get("event", {}).get("data", {})]

    @property
    def refusals(self) -> list[Refusal]:
        """Late commits that were refused while the session went on."""
        conflicts = [e.says for e in self.events if e.says["event_type"] == "MAPConflictDetected"]
        return [Refusal(e["payload"]["refused_token_id"], stamp_ms(e["timestamp"])) for e in conflicts]

    @property
    def refused(self) -> int:
        """Late commits that were refused on record, after the end of the session, too."""
        return len(self.refusals) + sum(e.says["event_type"] == "turn.refused" for e in self.journal)

    @property
    def lost_holders(self) -> dict[str, int]:
        """Process ids of workers that were reported as lost, by the token that was taken from them."""
        lost = [e.says["data"] for e in self.journal if e.says["event_type"] == "turn.worker.lost"]
        return {data["token_id"]: int(data["process"].rpartition("/")[2].partition("-")[0]) for data in lost}

    @property
    def late_bills(self) -> list[dict[str, int]]:
        """The usage of lost attempts that was reported after the end of their turn."""
        return bills(self.journal)

    @property
    def longest_silence_ms(self) -> int:
        """The longest time in which nothing happened between its first and its last event."""
        times = [entry.at_ms for entry in self.events]
        return max((b - a for a, b in pairwise(times)), default=0)


@dataclass(frozen=True, slots=True)
class Call:
    """One call of an agent, as it noted it itself."""

    session: str
    turn: int
    participant: str
    nonce: str
    seen: frozenset[int]
    item: str | None
    effect: str
    usage: dict[str, int]
    pid: int


def calls_by_session(log: Path) -> dict[str, dict[str, Call]]:
    """Session -> nonce -> call; a line that a killed worker left half written is left out."""
    found: dict[str, dict[str, Call]] = defaultdict(dict)
    for line in log.read_text().splitlines() if log.exists() else ():
        try:
            data = json.loads(line)
        except ValueError:
            continue
        call = Call(**{**data, "seen": frozenset(data["seen"])})
        found[call.session][call.nonce] = call
    return found

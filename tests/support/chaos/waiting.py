"""A round in which all sessions wait for a few busy slots, and the limit of the queue."""

from __future__ import annotations

import threading
import time
from collections.abc import Iterable, Sequence
from contextlib import suppress
from pathlib import Path
from random import Random

from redis.exceptions import RedisError

from chaos.arena import Arena, Fault
from chaos.audit.evidence import DUE
from chaos.machinery.courier import DELIVERED, SENT
from chaos.plays import Play
from chaos.rounds import Round
from chaos.script import Finding
from live import until

#: Messages beyond one of each session: those that workers hold, probes, and what was sent twice when messages changed places.
FEW = 20
#: Seconds for which all wait; sessions are looked at several times.
HELD_S = 6.0
#: Seconds between two looks at the queue.
_LOOK_S = 0.25


def most_messages(sessions: int) -> float:
    """How many messages there may be in the queue of so many sessions."""
    return 1.2 * sessions + FEW


def while_all_wait(fault: Fault) -> Fault:
    """The fault, at some time while all sessions wait."""

    def later(arena: Arena, random: Random) -> bool | None:
        until(lambda: len(arena.ids) == arena.expected, timeout_s=120, what="all sessions wait")
        time.sleep(random.uniform(0, HELD_S))
        return fault(arena, random)

    return later


class Waiting:
    """Keeps an arena's gate closed until all of the sessions have waited, and counts messages until closed."""

    def __init__(self, arena: Arena, sessions: Sequence[str]) -> None:
        self.gate: Path = arena.folder / "gate"
        #: The most messages for each open session, while all waited.
        self.queued = 0.0
        #: Messages too many, of how many, for how many sessions: where it was worst.
        self._excess = (0.0, 0, 0)
        self._arena = arena
        self._sessions = list(sessions)
        self._closed = threading.Event()
        self._thread = threading.Thread(target=self._run, name="chaos-waiting", daemon=True)

    def __enter__(self) -> Waiting:
        self.gate.unlink(missing_ok=True)
        self._thread.start()
        return self

    def __exit__(self, *_: object) -> None:
        self._closed.set()
        self._thread.join()
        self.gate.touch()

    @property
    def findings(self) -> list[Finding]:
        """What it has found so far."""
        excess, messages, sessions = self._excess
        return [Finding("", "queue", f"{messages} messages for {sessions} sessions")] if excess > 0 else []

    def _run(self) -> None:
        opens_at = float("inf")
        while not self._closed.wait(_LOOK_S):
            if self._arena.ids == self._sessions:
                opens_at = min(opens_at, time.monotonic() + HELD_S)
            if time.monotonic() >= opens_at:
                self.gate.touch()
            # The server, or the broker, may be away just now.
            with suppress(RedisError, OSError, RuntimeError):
                self._compare(*self._count())

    def _count(self) -> tuple[int, int]:
        """Messages that no worker has taken, and open sessions."""
        redis, broker = self._arena.server.client, self._arena.broker
        pipe = redis.pipeline(transaction=True).llen(SENT).llen(DELIVERED).zcard(DUE)
        *lengths, sessions = pipe.execute()
        if broker is None:
            return sum(lengths), sessions
        queue = broker.node.queues(broker.url).get(SENT)
        return queue.ready if queue else 0, max(sessions, redis.zcard(DUE))

    def _compare(self, messages: int, sessions: int) -> None:
        if sessions > len(self._sessions) / 2:
            self.queued = max(self.queued, messages / sessions)
        self._excess = max(self._excess, (messages - most_messages(sessions), messages, sessions))


def run_waiting(arena: Arena, plays: Sequence[Play], faults: Iterable[Fault], *, seed: int) -> Round:
    """Run sessions that wait for the gate of the arena, with faults meanwhile."""
    with Waiting(arena, [play.id for play in plays]) as waiting:
        gated_by = {"gate": str(waiting.gate)}
        later = [while_all_wait(fault) for fault in faults]
        outcome = arena.run(plays, later, seed=seed, think_ms=0, parameters=gated_by)
    outcome.findings += waiting.findings
    outcome.queued = waiting.queued
    outcome.longest_silence_ms = 0  # a session that waits for a slot says nothing meanwhile
    return outcome

"""The next turn of a session, which the thread that wrote the turn before it was granted with the same script.

A thread that keeps the next turn claims it with the commit. That saves the round trip and the script of `begin`. The claim is
a promise: whatever happens, the thread runs the turn. If its process dies before, the lease of the turn expires.
"""

from __future__ import annotations

import threading
import time
from dataclasses import dataclass

from ...state.sessions.records import ScriptAnswer
from ...state.sessions.requests import Claim
from .dialog_tails import Tail


@dataclass(frozen=True, slots=True)
class ClaimedTurn:
    """A claim on a turn, and what belongs to it."""

    claim: Claim
    #: The messages that this process has, whose newest one the claim names.
    tail: Tail | None
    #: The answer of the commit that granted it; None: `begin` grants it.
    answer: ScriptAnswer | None = None
    #: Time of that answer, by `time.monotonic()`, in seconds.
    since: float = 0.0


class NextTurns(threading.local):
    """The next turn of each thread."""

    _next: tuple[str, ClaimedTurn] | None = None

    def put(self, session_id: str, next_turn: ClaimedTurn) -> None:
        """Set the turn that this thread will run next."""
        self._next = session_id, next_turn

    def take(self, session_id: str, number: int) -> ClaimedTurn | None:
        """Return the turn if this thread was granted it just now; None: it must begin."""
        kept, self._next = self._next, None
        if kept is None or (kept[0], kept[1].claim.number) != (session_id, number):
            return None
        next_turn = kept[1]
        is_fresh = time.monotonic() < next_turn.since + next_turn.claim.lease_ms / 1000
        return next_turn if is_fresh else None

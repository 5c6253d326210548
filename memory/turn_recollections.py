"""Long-term memory in turns: what a turn recalls, and the notes that it adds.

The notes of a turn are a part of its result, so they are written with the turn, or not at all. The planning of the
next step passes them to the store. While the store is unavailable they wait in Redis, and the workers try again.

A store may hang or fail without any effect on turns: a turn waits a few seconds at most, and then none of this process
waits for half a minute.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial
from typing import TypeVar, cast

from redis import Redis

from ..agents.execution.threads import DaemonThreadPool
from ..models.errors import ArchiveError, StateError
from ..models.memory.recollections import (
    MAX_QUERY,
    MAX_RECALLED,
    Recollection,
    Recollections,
    Scope,
    ScopeKind,
    bounded_texts,
    to_recollections,
)
from ..models.turns.frozen import Frozen
from ..state.redis.keys import PENDING_NOTES, noted_key
from ..state.redis.readers import Unreadable, read_record
from ..state.sessions.records import SessionState
from ..tasks.views.session_views import SessionFacts, decode_turn_result

log = logging.getLogger(__name__)

#: Seconds that a turn waits for the store.
TIMEOUT_S = 5.0
#: Seconds without another attempt after a failure.
AWAY_S = 30.0
#: Milliseconds for which notes wait for the store.
KEPT_MS = 7 * 24 * 3_600_000
#: Milliseconds after which another process may store notes whose storing has begun.
CLAIM_MS = 60_000
#: Milliseconds for which stored notes are known as stored. Planning repeats much sooner.
STORED_MS = 24 * 3_600_000
#: Maximum number of threads that wait for the store, hanging ones included.
_THREADS = 16

_STORED = "stored"

T = TypeVar("T")


class TurnNotes(Frozen):
    """Notes of a turn that was written."""

    session_id: str
    opened_ms: int
    number: int
    scope: Scope
    at_ms: int
    texts: tuple[str, ...]

    @property
    def source(self) -> str:
        """Return the id of the turn; the id of a session may be used again."""
        return f"{self.session_id}:{self.opened_ms}:{self.number}"


class PendingNotes:
    """Notes that the store does not have yet, in the Redis of the sessions. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def claim(self, notes: TurnNotes) -> bool:
        """Keep notes, and return whether the caller stores them: they are not stored, and nobody else does it."""
        key = noted_key(notes.session_id, notes.number)
        is_claimed = self._client.set(key, notes.source, nx=True, px=CLAIM_MS)
        if not is_claimed and self._client.get(key) == f"{_STORED} {notes.source}":
            self._client.hdel(PENDING_NOTES, notes.source)
            return False
        with self._client.pipeline(transaction=False) as pipe:
            pipe.hset(PENDING_NOTES, notes.source, notes.model_dump_json())
            pipe.pexpire(PENDING_NOTES, KEPT_MS)
            pipe.execute()
        return bool(is_claimed)

    def complete(self, notes: TurnNotes) -> None:
        """Drop notes that were stored."""
        with self._client.pipeline(transaction=False) as pipe:
            pipe.set(noted_key(notes.session_id, notes.number), f"{_STORED} {notes.source}", px=STORED_MS)
            pipe.hdel(PENDING_NOTES, notes.source)
            pipe.execute()

    def release(self, notes: TurnNotes) -> None:
        """Let any process store notes, because this one could not."""
        self._client.delete(noted_key(notes.session_id, notes.number))

    def drop(self, is_forgotten: Callable[[Scope], bool]) -> None:
        """Drop the notes of scopes that are forgotten."""
        sources = [notes.source for notes in self.read_all() if is_forgotten(notes.scope)]
        if sources:
            self._client.hdel(PENDING_NOTES, *sources)

    def drop_user(self, user: str) -> None:
        """Drop the notes of a user, in every tenant."""
        self.drop(lambda scope: (scope.kind, scope.id) == (ScopeKind.USER, user))

    def drop_turn(self, notes: TurnNotes) -> None:
        """Drop the notes of one turn."""
        self._client.hdel(PENDING_NOTES, notes.source)

    def count(self) -> int:
        """Return the number of turns whose notes wait."""
        return self._client.hlen(PENDING_NOTES)

    def read_all(self) -> list[TurnNotes]:
        """Return all notes that wait, the oldest turn first."""
        stored = cast("dict[str, str]", self._client.hgetall(PENDING_NOTES))
        pending = []
        for source, content in stored.items():
            notes = read_record("notes of turn", source, partial(TurnNotes.model_validate_json, content))
            if not isinstance(notes, Unreadable):
                pending.append(notes)
        return sorted(pending, key=lambda notes: notes.at_ms)


class Outage:
    """A time after a failure of the store in which this process does not call it.

    Args:
        effect: What happens meanwhile, for the log.
    """

    def __init__(self, effect: str) -> None:
        self._effect = effect
        self._until = 0.0

    @property
    def lasts(self) -> bool:
        """Return whether the outage has not ended."""
        return time.monotonic() < self._until

    def begin(self, error: Exception) -> None:
        """Begin an outage, and log it."""
        self._until = time.monotonic() + AWAY_S
        reason = f"no answer within {TIMEOUT_S:g} s" if isinstance(error, TimeoutError) else error
        log.warning(
            "long-term memory unavailable, %s, next attempt in %g s: %s", self._effect, AWAY_S, reason
        )


class TurnRecollections:
    """Long-term memory for the turns of a process.

    Args:
        find_store: Returns the store; called when it is first needed. Raises an error if there is none.
        pending: Notes that wait for the store.
    """

    def __init__(self, find_store: Callable[[], Recollections], pending: PendingNotes) -> None:
        self._find_store = find_store
        self._pending = pending
        self._threads = DaemonThreadPool(limit=_THREADS)
        # Apart from each other: a text that the store refuses must not keep turns from recalling others.
        self._reading = Outage("turns run without it")
        self._writing = Outage("notes are stored later")

    def recall(self, facts: SessionFacts, query: str) -> tuple[str, ...] | None:
        """Return the texts for a turn; None in a session without long-term memory. Never raises."""
        scope = facts.spec.recall_scope
        if scope is None:
            return None
        if self._reading.lasts:
            return ()
        try:
            return self._call(lambda: bounded_texts(self._search(query, scope)))
        except Exception as error:  # noqa: BLE001 - a store may be any code
            self._reading.begin(error)
            return ()

    def remember(self, facts: SessionFacts, state: SessionState) -> None:
        """Store the notes of turns that closed since the last plan; a repeated call changes nothing.

        Raises:
            RedisUnavailable: The call may be repeated.
        """
        scope = facts.spec.recall_scope
        if scope is None:
            return
        for turn in state.unconsumed():
            if not turn.result or '"notes"' not in turn.result:
                continue
            result = decode_turn_result(state, turn)
            if result.notes:
                notes = TurnNotes(
                    session_id=facts.session_id,
                    opened_ms=facts.opened_ms,
                    number=result.number,
                    scope=scope,
                    at_ms=state.now_ms,
                    texts=result.notes,
                )
                self._store(notes)

    def retry(self) -> int:
        """Store the notes that wait; return for how many turns it succeeded.

        Raises:
            RedisUnavailable: The call may be repeated.
        """
        stored = 0
        for notes in () if self._writing.lasts else self._pending.read_all():
            if notes.at_ms < time.time() * 1_000 - KEPT_MS:
                log.warning("long-term memory: notes of turn %s dropped, not stored for a week", notes.source)
                self._pending.drop_turn(notes)
            elif self._writing.lasts:
                break
            else:
                stored += self._store(notes)
        return stored

    def _store(self, notes: TurnNotes) -> bool:
        """Pass notes to the store; return False if they wait, or another process does it."""
        if not self._pending.claim(notes):
            return False
        try:
            if not self._writing.lasts:
                self._call(partial(self._write, notes))
                self._pending.complete(notes)
                return True
        except StateError:
            raise
        except (ArchiveError, OSError) as error:  # with TimeoutError
            self._writing.begin(error)
        except Exception as error:  # noqa: BLE001 - a store may be any code, and refuse these texts only
            log.warning(
                "long-term memory refused the notes of turn %s, to be tried again: %s", notes.source, error
            )
        self._pending.release(notes)
        return False

    def _search(self, query: str, scope: Scope) -> list[Recollection]:
        store = self._find_store()
        return to_recollections(store.recall(query[:MAX_QUERY], scope=scope, limit=MAX_RECALLED))

    def _write(self, notes: TurnNotes) -> None:
        self._find_store().remember(list(notes.texts), scope=notes.scope, source=notes.source)

    def _call(self, call: Callable[[], T]) -> T:
        """Return the result of a call in another thread. Raises TimeoutError, and the error of the call."""
        return self._threads.submit(call).result(TIMEOUT_S)

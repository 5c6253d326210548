"""Dialog memory in turns: what a turn is shown, and what it leaves behind.

A turn reads the memory once, when it has the floor, and writes it once, when its outcome has
been written: two round trips, none for a session without memory. A turn that failed writes
nothing, one that is delivered again writes the same, which changes nothing.

Nothing here raises: without Redis a turn runs without memory, and is told so.

Source: dialog state document, section 2 (`execute`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import dataclass

from ..models.errors import InvalidInput
from ..models.memory.learned import Learned, MemoryOptions
from ..models.memory.merge import Statement, Writer, applied, mark_of
from ..models.memory.recall import Asker, MemoryView, recall
from ..models.memory.saying import Heard, Origin, heard
from ..models.memory.services import service_named
from ..models.memory.state import MemoryState
from ..state.memory_counts import MemoryEvent
from ..state.memory_log import log_merging, log_retrieved, log_stored
from ..state.memory_store import AWAY, MemoryStore
from ..state.memory_values import Look, Owner
from .view import SessionFacts

log = logging.getLogger(__name__)

#: Seconds in which nobody waits for a Redis that did not answer.
AWAY_S = 5.0


@dataclass(frozen=True, slots=True)
class Recollection:
    """What a turn knows of the memory."""

    #: None: nobody's; nothing is written.
    owner: Owner | None
    #: What the turn is shown.
    view: MemoryView
    #: What was read; degraded when Redis was away.
    look: Look
    #: The stamp of all that this turn says.
    at_ms: int
    #: What the session's own message says.
    said: tuple[Statement, ...]


@dataclass(frozen=True, slots=True)
class Told:
    """What a turn that has been written leaves behind."""

    number: int
    participant: str
    messages: int
    learned: Learned | None


class TurnMemory:
    """The memory of a worker's turns."""

    def __init__(self, store: MemoryStore) -> None:
        self._store = store
        self._away_until = 0.0

    def recall(self, facts: SessionFacts, *, now_ms: int) -> Recollection | None:
        """What a turn that has the floor now is to know; None in a session without memory."""
        options = facts.spec.memory
        if options is None:
            return None
        try:
            return self._recalled(facts, options, now_ms)
        except Exception:
            # A defect here must not cost the turn.
            log.exception("session %s: the turn runs without memory", facts.session_id)
            self._store.counts.keep(MemoryEvent.DEGRADED)
            view = MemoryView(service=options.service, parameters=options.said, degraded=True)
            return Recollection(None, view, Look(now_ms, degraded=True), now_ms, ())

    def remember(self, facts: SessionFacts, recollection: Recollection | None, told: Told) -> None:
        """Writes what was said and learned, once its turn has been written."""
        if recollection is None or recollection.owner is None or not (told.messages or told.learned):
            return
        try:
            self._remembered(facts, recollection.owner, recollection, told)
        except AWAY as error:
            self._is_away(error)
        except Exception:
            log.exception("session %s: turn %d left nothing in memory", facts.session_id, told.number)
            self._store.counts.keep(MemoryEvent.DEGRADED)

    def _recalled(self, facts: SessionFacts, options: MemoryOptions, now_ms: int) -> Recollection:
        owner = Owner.of(options.user_id, options.room_id)
        look = Look(now_ms) if owner is None else self._looked(owner, now_ms)
        at_ms = look.room.value.stamp(now_ms)
        said = self._said(facts, options, look.room.value)
        state = look.room.value
        for statement in said:
            state = applied(state, statement)
        view = self._view(facts, options, look, state)
        if view.service and said:
            cached, new = (
                look.room.value.values(view.service),
                {n: k.value for n, k in said[0].parameters.items()},
            )
            log_merging(view.service, cached=cached, new=new, merged=view.parameters)
        return Recollection(owner, view, look, at_ms, said)

    def _view(
        self, facts: SessionFacts, options: MemoryOptions, look: Look, state: MemoryState
    ) -> MemoryView:
        name = state.service or options.service
        ttl_ms = self._store.rules.ttl_ms
        return recall(
            state,
            None if name is None else service_named(name),
            Asker(look.now_ms, ttl_ms, session=facts.session_id, ask_below=options.ask_below),
            defaults=options.defaults,
            other_rooms=look.sharing.value.shelf(name, now_ms=look.now_ms, ttl_ms=ttl_ms),
            degraded=look.degraded,
        )

    def _looked(self, owner: Owner, now_ms: int) -> Look:
        if time.monotonic() < self._away_until:
            self._store.counts.keep(MemoryEvent.DEGRADED)
            return Look(now_ms, degraded=True)
        try:
            look = self._store.look(owner)
        except AWAY as error:
            self._is_away(error)
            return Look(now_ms, degraded=True)
        log_retrieved(owner, look)
        return look

    def _is_away(self, error: Exception) -> None:
        self._away_until = time.monotonic() + AWAY_S
        self._store.counts.keep(MemoryEvent.DEGRADED)
        log.warning("dialog memory is away, turns run without it: %s", error)

    def _said(self, facts: SessionFacts, options: MemoryOptions, state: MemoryState) -> tuple[Statement, ...]:
        """What the session's message says, as of when it was opened: a service, and parameters."""
        name = options.service or state.service
        if name is None:
            return ()
        origin = Origin(facts.opened_ms, facts.session_id)
        return (self._valid(heard(service_named(name), origin, options.said)),)

    def _remembered(self, facts: SessionFacts, owner: Owner, recollection: Recollection, told: Told) -> None:
        look = recollection.look
        if look.degraded:
            look = self._looked(owner, look.now_ms)
            if look.degraded:
                return
        statements = [*recollection.said, *self._learned(facts, recollection, told)]
        writer = Writer(
            now_ms=look.now_ms,
            mark=mark_of(facts.session_id, told.number),
            by=told.participant,
            conversation_id=facts.spec.thread_id or facts.session_id,
            session=facts.session_id,
            messages=told.messages,
        )
        if self._store.write(owner, statements, writer, look=look):
            log_stored(owner, self._store.rules)

    def _learned(self, facts: SessionFacts, recollection: Recollection, told: Told) -> Sequence[Statement]:
        learned = told.learned
        name = (learned and learned.service) or recollection.view.service
        if learned is None or not learned or name is None:
            return ()
        try:
            service = service_named(name)
        except InvalidInput as error:
            log.warning("session %s, turn %d: %s", facts.session_id, told.number, error)
            self._store.counts.count(MemoryEvent.INVALID)
            return ()
        origin = Origin(recollection.at_ms, facts.session_id, told.number)
        return (
            self._valid(
                heard(
                    service,
                    origin,
                    learned.parameters,
                    inferred=learned.inferred,
                    confidence=learned.confidence,
                    forget=learned.forget,
                )
            ),
        )

    def _valid(self, it: Heard) -> Statement:
        """What may be remembered; the rest is told by name and rule, and counted."""
        for error in it.invalid:
            log.warning("not remembered: %s", error)
        if it.invalid:
            self._store.counts.count(MemoryEvent.INVALID, len(it.invalid))
        return it.statement

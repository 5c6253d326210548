"""Dialog memory in turns: the view of a turn, and the changes it makes.

A turn reads the memory once, after its grant. Its statements are written with the turn, as a
part of its result; the planning of the next step first stores them in the memory. So a failed
turn leaves no statements, a worker may die at any moment, and the memory has all statements when
the next turn begins or the session has ended. This costs two round trips per turn, and none in a
session without memory.

No function here raises: during an outage of the memory's Redis a turn runs without memory, and its view says so. It still
sees what its session has learned: `UnstoredStatements` are in the Redis of the session, and are stored in the memory with
a later turn.

Source: dialog state document, section 2 (`execute`).
"""

from __future__ import annotations

import logging
import time
from collections.abc import Mapping, Sequence
from functools import partial

from pydantic import JsonValue

from ..models.errors import InvalidInput
from ..models.memory.checking import check_learned, infer_service
from ..models.memory.forms import service_forms
from ..models.memory.learned import MAX_REMARKS, Learned, MemoryOptions, MemoryUpdate
from ..models.memory.parameters import is_stated
from ..models.memory.recall import MemoryView, RecallContext, RecalledMemory, day_of, recall
from ..models.memory.services import Service, find_service, registered_services
from ..models.memory.state import MemoryState
from ..models.turns.turn import OutcomeKind, TurnOutcome, TurnResult
from ..state.redis.readers import Unreadable, read_record
from ..state.sessions.records import SessionState
from ..state.sessions.requests import JournalNote
from ..tasks.views.session_views import SessionFacts, decode_turn_result
from .merge import (
    ParsedStatement,
    Statement,
    StatementOrigin,
    WriteMetadata,
    apply_statement,
    lost_names,
    parse_statement,
    write_mark,
)
from .monitoring import MemoryEvent, log_merging, log_retrieved, log_stored
from .sentences import ParsedSentences
from .store import REDIS_ERRORS, MemoryStore
from .unstored import UnstoredStatements
from .values import MemorySnapshot, Owner, SnapshotCache
from .wire_form import cap_learned

log = logging.getLogger(__name__)

#: Type of the event of values that are not stored; `reasons` has one line for each.
MEMORY_DROPPED = "memory.dropped"
#: Seconds without another attempt after a failed request to Redis.
AWAY_S = 5.0


class TurnMemory:
    """Dialog memory for the turns of a worker.

    Args:
        store: The memories.
        unstored: Keeps what sessions learn while the server of the memories is unavailable; None: it is that of the
            sessions.
        sentences: Keeps what was read from the sentences of sessions; None: the server of the memories does.
    """

    def __init__(
        self,
        store: MemoryStore,
        unstored: UnstoredStatements | None = None,
        sentences: ParsedSentences | None = None,
    ) -> None:
        self._store = store
        self._unstored = unstored
        self._sentences = sentences or ParsedSentences(store.client)
        self._seen = SnapshotCache()
        self._away_until = 0.0

    def recall(self, facts: SessionFacts, *, now_ms: int) -> RecalledMemory | None:
        """Return the memory for a turn that was just granted; None in a session without memory."""
        options = facts.spec.memory
        if options is None:
            return None
        try:
            return self._build_recall(facts, options, now_ms)
        except Exception:
            # A defect in this code must not fail the turn.
            log.exception(
                "session %s: reading dialog memory failed, running the turn without it", facts.session_id
            )
            self._store.counts.count_locally(MemoryEvent.DEGRADED)
            view = MemoryView(service=options.service, parameters=options.said, degraded=True)
            return RecalledMemory(view, now_ms, has_owner=True)

    def add_sentence(self, facts: SessionFacts, learned: Learned, *, now_ms: int) -> RecalledMemory | None:
        """Keep what was read from the session's sentence, and return the memory with it."""
        try:
            self._sentences.add(facts.session_id, facts.opened_ms, learned)
        except REDIS_ERRORS as error:
            self._handle_outage(error)
            return None
        return self.recall(facts, now_ms=now_ms)

    def add_statements(
        self, recollection: RecalledMemory, result: TurnResult, outcome: TurnOutcome
    ) -> tuple[TurnResult, tuple[JournalNote, ...]]:
        """Return the result with the statements of its turn that are to be remembered, and events of what is dropped."""
        checked = check_learned(outcome.learned, recollection.view)
        faults = [*recollection.faults, *checked.faults]
        if checked.faults:
            self._store.counts.count(MemoryEvent.INVALID, len(checked.faults))
        learned = checked.learned
        if not recollection.has_owner or not (outcome.messages or learned):
            return result, self._dropped(result, faults)
        if learned is not None:
            max_bytes = self._store.rules.max_bytes
            learned, left_out = cap_learned(learned, max_bytes=max_bytes)
            if left_out:
                self._store.counts.count(MemoryEvent.TOO_LARGE, len(left_out))
                rule = f"must fit, with all parameters of a turn, into {max_bytes} bytes"
                faults += [f"REMEMBER {name}: {rule}" for name in left_out]
        remember = MemoryUpdate(at_ms=recollection.at_ms, about=recollection.service, learned=learned)
        return result.model_copy(update={"remember": remember}), self._dropped(result, faults)

    def _dropped(self, result: TurnResult, faults: Sequence[str]) -> tuple[JournalNote, ...]:
        """Log what is not stored, and return its event."""
        for fault in faults:
            log.warning(
                "dialog memory: turn %d of %s, not stored: %s", result.number, result.participant, fault
            )
        if not faults:
            return ()
        data: dict[str, JsonValue] = {
            "turn_number": result.number,
            "participant_id": result.participant,
            "reasons": list(faults[:MAX_REMARKS]),
        }
        return (JournalNote(MEMORY_DROPPED, data),)

    def remember(self, facts: SessionFacts, state: SessionState) -> None:
        """Store the statements of turns that closed since the last plan; a repeated call changes nothing."""
        options = facts.spec.memory
        owner = None if options is None else Owner.from_ids(options.user_id, options.room_id)
        if options is None or owner is None:
            return
        turns = [turn for turn in state.unconsumed() if turn.result and '"remember"' in turn.result]
        kept = self._read_unstored(facts.session_id)
        results = {**kept, **{turn.number: decode_turn_result(state, turn) for turn in turns}}
        is_away = False
        for number, result in results.items():
            # In this order: a later statement replaces an earlier one.
            is_away = is_away or not self._store_result(facts, options, owner, result, now_ms=state.now_ms)
            if self._unstored is None:
                continue
            if not is_away and number in kept:
                self._unstored.drop(facts.session_id, number)
            elif is_away and number not in kept:
                log.warning(
                    "dialog memory: what turn %d of session %s states waits, and is lost if no turn follows",
                    number,
                    facts.session_id,
                )
                self._unstored.keep(facts.session_id, number, result.model_dump_json(exclude_none=True))

    def _store_result(
        self, facts: SessionFacts, options: MemoryOptions, owner: Owner, result: TurnResult, *, now_ms: int
    ) -> bool:
        """Store the statements of a turn; return False if the memory is unavailable."""
        try:
            return self._store_statements(facts, options, owner, result, now_ms=now_ms)
        except REDIS_ERRORS as error:
            self._handle_outage(error)
            return False
        except Exception:
            log.exception(
                "session %s: storing dialog memory of turn %d failed", facts.session_id, result.number
            )
            self._store.counts.count_locally(MemoryEvent.DEGRADED)
            return True

    def _read_unstored(self, session_id: str) -> dict[int, TurnResult]:
        """Return the results of turns whose statements are not stored yet."""
        if self._unstored is None:
            return {}
        results = {}
        for number, text in self._unstored.read(session_id).items():
            read = partial(TurnResult.model_validate_json, text)
            result = read_record("unstored statements of session", session_id, read)
            if not isinstance(result, Unreadable):
                results[number] = result
        return results

    # -- reading -------------------------------------------------------------------------------

    def _build_recall(self, facts: SessionFacts, options: MemoryOptions, now_ms: int) -> RecalledMemory:
        owner = Owner.from_ids(options.user_id, options.room_id)
        look = MemorySnapshot(now_ms) if owner is None else self._read(owner, now_ms)
        before = look.room.value
        message = self._read_message(facts, options)
        likely = self._service_of_message(facts, options, message or Learned(), before)
        about = likely[0] if len(likely) == 1 else None
        opening = self._opening_statements(facts, message, about)
        state = before if opening is None else apply_statement(before, opening.statement)
        for result in self._read_unstored(facts.session_id).values():
            learned = self._learned(facts, options, state, result)
            state = state if learned is None else apply_statement(state, learned.statement)
        said = {} if message is None else message.parameters
        view = self._view(facts, options, look, state, said)
        if view.service is None and len(likely) > 1:
            view = view.changed(unclear=likely, ask=("service", *view.ask))
        if opening is not None and view.service is not None:
            new = {name: remembered.value for name, remembered in opening.statement.parameters.items()}
            cached = before.values(view.service)
            log_merging(view.service, cached=cached, new=new, merged=view.parameters)
        is_stored = owner is None or before.service_of_session(facts.session_id) is not None
        return RecalledMemory(
            view,
            before.stamp(now_ms),
            has_owner=owner is not None,
            service=about,
            sentence=options.sentence if message is None else None,
            faults=() if opening is None or is_stored else tuple(map(str, opening.invalid)),
        )

    def _read_message(self, facts: SessionFacts, options: MemoryOptions) -> Learned | None:
        """Return the parameters of the session's own message; None: no parser has read it yet."""
        if options.sentence is None:
            return Learned(parameters=options.said)
        return self._sentences.read(facts.session_id, facts.opened_ms)

    def _service_of_message(
        self, facts: SessionFacts, options: MemoryOptions, message: Learned, before: MemoryState
    ) -> tuple[str, ...]:
        """Return the service of the session's own message; several: it is not clear which one."""
        named = message.service or options.service or before.service_of_session(facts.session_id)
        if named is not None:
            return (named,)
        current = self._service(before.service)
        if before.service is not None and current is None:
            return (before.service,)
        stated = [name for name, value in message.parameters.items() if is_stated(value)]
        return tuple(service.name for service in infer_service(stated, current, registered_services()))

    def _view(
        self,
        facts: SessionFacts,
        options: MemoryOptions,
        look: MemorySnapshot,
        state: MemoryState,
        said: Mapping[str, JsonValue],
    ) -> MemoryView:
        # A service selected by another session does not apply to a session about one service.
        is_elsewhere = options.service is not None and state.selected_by != facts.session_id
        name = options.service if is_elsewhere else state.service
        ttl_ms = self._store.rules.ttl_ms
        view = recall(
            state,
            self._service(name),
            RecallContext(look.now_ms, ttl_ms, session=facts.session_id, ask_below=options.ask_below),
            said=said,
            defaults=options.defaults,
            other_rooms=look.sharing.value.service_memory(name, now_ms=look.now_ms, ttl_ms=ttl_ms),
            degraded=look.degraded,
        )
        service = self._service(options.service)
        offered = registered_services() if service is None else (service,)
        return view.changed(forms=service_forms(offered), today=day_of(look.now_ms))

    def _read(self, owner: Owner, now_ms: int) -> MemorySnapshot:
        if time.monotonic() < self._away_until:
            self._store.counts.count_locally(MemoryEvent.DEGRADED)
            return MemorySnapshot(now_ms, degraded=True)
        try:
            look = self._store.read(owner)
        except REDIS_ERRORS as error:
            self._handle_outage(error)
            return MemorySnapshot(now_ms, degraded=True)
        log_retrieved(owner, look)
        self._seen.put(owner, look)
        return look

    def _handle_outage(self, error: Exception) -> None:
        self._away_until = time.monotonic() + AWAY_S
        self._store.counts.count_locally(MemoryEvent.DEGRADED)
        log.warning("dialog memory unavailable, running turns without it: %s", error)

    # -- writing -------------------------------------------------------------------------------

    def _store_statements(
        self, facts: SessionFacts, options: MemoryOptions, owner: Owner, result: TurnResult, *, now_ms: int
    ) -> bool:
        """Store the statements of a turn; return False if the memory could not be read."""
        # The last known memory of this process may be outdated: then the write returns the current one.
        look, update = self._seen.get(owner) or self._read(owner, now_ms), result.remember
        if look.degraded or update is None:
            return not look.degraded
        about = update.about or options.service or look.room.value.service
        opening = self._opening_statements(facts, self._read_message(facts, options), about)
        learned = self._learned(facts, options, look.room.value, result)
        if learned is None and update.learned:
            names = ", ".join((*update.learned.parameters, *update.learned.inferred, *update.learned.forget))
            log.warning("dialog memory: turn %d, not stored without a service: %s", result.number, names)
            self._store.counts.count(MemoryEvent.INVALID)
        writer = WriteMetadata(
            now_ms=now_ms,
            mark=write_mark(facts.session_id, result.number),
            by=result.participant,
            conversation_id=facts.spec.thread_id or facts.session_id,
            session=facts.session_id,
            messages=int(result.kind is OutcomeKind.MESSAGE),
        )
        statements = [self._drop_invalid(parsed) for parsed in (opening, learned) if parsed is not None]
        written = self._store.write(owner, statements, writer, look=look)
        self._seen.put(owner, written)
        if written is not look:
            log_stored(owner, self._store.rules)
            lost = () if learned is None else lost_names(learned.statement, written.room.value)
            if lost:
                log.warning(
                    "dialog memory: turn %d, not stored, forgotten meanwhile or removed to make room: %s",
                    result.number,
                    ", ".join(lost),
                )
        return True

    def _opening_statements(
        self, facts: SessionFacts, message: Learned | None, about: str | None
    ) -> ParsedStatement | None:
        """Return the statements of the session's own message, with the time when the session was opened."""
        service = None if message is None else self._service(message.service or about)
        if service is None or message is None:
            return None
        return parse_statement(
            service,
            StatementOrigin(facts.opened_ms, facts.session_id),
            message.parameters,
            inferred=message.inferred,
            confidence=message.confidence,
            forget=message.forget,
        )

    def _learned(
        self, facts: SessionFacts, options: MemoryOptions, state: MemoryState, result: TurnResult
    ) -> ParsedStatement | None:
        """Return the statements of a turn's agent."""
        update = result.remember or MemoryUpdate(at_ms=0)
        learned = update.learned or Learned()
        service = self._service(learned.service or options.service or state.service)
        if service is None or not learned:
            return None
        return parse_statement(
            service,
            StatementOrigin(update.at_ms, facts.session_id, result.number),
            learned.parameters,
            inferred=learned.inferred,
            confidence=learned.confidence,
            forget=learned.forget,
        )

    def _service(self, name: str | None) -> Service | None:
        """Return the service; None if none was named, or this worker does not know it."""
        try:
            return None if name is None else find_service(name)
        except InvalidInput as error:
            log.warning("dialog memory: ignoring an unknown service: %s", error)
            self._store.counts.count(MemoryEvent.INVALID)
            return None

    def _drop_invalid(self, parsed: ParsedStatement) -> Statement:
        """Return the valid part of a statement; the rest is logged by name and rule, and counted."""
        for error in parsed.invalid:
            log.warning("dialog memory: invalid value not stored: %s", error)
        if parsed.invalid:
            self._store.counts.count(MemoryEvent.INVALID, len(parsed.invalid))
        return parsed.statement

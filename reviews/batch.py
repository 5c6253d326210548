"""A batch brought forward: items given out, their sessions opened, their results taken, and one report at its end.

Every verb may be called by anybody, at any time, twice: what may be done the scripts of the store decide. The end
of an item's session sends word of it; what gets lost, with a worker or a message, the sweep finds.
"""

from __future__ import annotations

import logging
from contextlib import suppress

from ..models.dialog import Message
from ..models.errors import InvalidInput, LifecycleError, SessionConflict, SessionNotFound
from ..models.events import MapEvent
from ..models.review.runs import ItemResult, ItemState, RunState
from ..state.records import SessionState
from ..state.review_index import LOOK_MS
from ..state.review_records import BatchHead, BatchView, ItemRecord
from ..state.stored import read_stored
from .ending import finish, take_off
from .item_sessions import opening_of, result_of, session_of, submission_of
from .office import Office

log = logging.getLogger(__name__)

#: Batches that a sweep looks at, at once.
_SWEPT = 100


def go_on(office: Office, batch_id: str) -> None:
    """Gives out what may begin now, and ends the batch when nothing is left. Raises RedisUnavailable."""
    word, claimed, overdue, unit = office.store.claim(batch_id)
    match word:
        case "claimed" | "stopping":
            office.queue.send_items(batch_id, [*claimed, *overdue])
        case "late":
            stop(office, batch_id, RunState.PARTIAL, "its time is over")
        case "exhausted":
            stop(office, batch_id, RunState.PARTIAL, f"nothing is left of what it may spend in {unit}")
        case "idle":
            finish(office, batch_id)
        case "closed" | "missing":
            take_off(office, batch_id)
        case _:  # it is still being handed over
            pass


def stop(office: Office, batch_id: str, outcome: RunState, reason: str) -> bool:
    """Cancels what waits and what is under way; what was found stays. False: it has ended before.

    Raises:
        ReviewNotFound: there is no such batch.
    """
    numbers = office.store.stop(batch_id, outcome=outcome.value, reason=reason)
    if numbers is None:
        return False
    for number in numbers:
        record = office.store.item(batch_id, number)
        if record is not None:
            _cancel_session(office, session_of(batch_id, number, record.attempt))
    office.queue.send_items(batch_id, numbers)
    if not numbers:
        go_on(office, batch_id)
    return True


def look_at(office: Office, batch_id: str, number: int) -> None:
    """Does what an item under way needs now: opens its session, or takes its result. Raises ReviewNotFound."""
    record = office.store.item(batch_id, number)
    if record is None or record.state is not ItemState.RUNNING:
        return
    session_id = session_of(batch_id, number, record.attempt)
    state = _state(office, session_id)
    # The batch not before the session, since a stop ends the batch first, and then what is under way; and the item
    # once more with it: by now it may be settled, its batch stopped and asked for again.
    view, now = office.store.look(batch_id, number)
    if now is None or (now.state, now.attempt) != (record.state, record.attempt):
        return
    if state is None:
        _begin(office, view, record)
        return
    office.store.drop_text(batch_id, number)
    if state.is_final:
        _settle(office, view, record, _result(office, record, state, view))
        return
    if view.state == "stopping":  # it was opened while the batch was stopped
        _withdraw(office, batch_id, record)


def _state(office: Office, session_id: str) -> SessionState | None:
    try:
        return office.sessions.state(session_id)
    except SessionNotFound:
        return None


def sweep_batches(office: Office) -> int:
    """Sends word of every batch whose time has come. Raises BrokerAway, RedisUnavailable."""
    sent = 0
    while True:
        claimed = office.index.claim(limit=_SWEPT, hold_ms=LOOK_MS)
        for batch_id in claimed:
            office.queue.send_batch(batch_id)
        sent += len(claimed)
        if len(claimed) < _SWEPT:
            return sent


def _begin(office: Office, view: BatchView, record: ItemRecord) -> None:
    batch_id, number = view.batch_id, record.number
    if view.state == "stopping":
        _settle(office, view, record, ItemResult(item=record.item, state=ItemState.CANCELLED))
        return
    head = office.store.head(batch_id)
    opening = _opening(office, head, record)
    if opening is None:
        with suppress(SessionNotFound):  # somebody else has opened it in this very moment
            office.sessions.state(session_of(batch_id, number, record.attempt))
            return
    try:
        if opening is None:
            raise InvalidInput("text", record.item.path, "must be there: it has expired")
        office.opener.open(submission_of(head, record, opening))
    except (InvalidInput, LifecycleError, SessionConflict) as error:
        failed = ItemResult(item=record.item, state=ItemState.FAILED, error=str(error)[:500])
        _settle(office, view, record, failed)
        return
    office.store.drop_text(batch_id, number)
    view, now = office.store.look(batch_id, number)
    if view.state != "running" or now is None or now.attempt != record.attempt:
        # It was stopped before there was a session to cancel; by now its item may be settled, and even asked for again.
        _withdraw(office, batch_id, record)


def _opening(office: Office, head: BatchHead, record: ItemRecord) -> str | None:
    """What the session begins with: made of the text, or what the attempts before began with; None: it is gone."""
    text = office.store.text(head.batch_id, record.number)
    if text is not None:
        return opening_of(record.item, text)
    for attempt in range(record.attempt - 1, 0, -1):
        page = office.streams.page(session_of(head.batch_id, record.number, attempt), "dialog", count=1)
        if page:
            return read_stored(Message, page[0][1], session_id=head.batch_id, part="dialog").content
    return None


def _result(office: Office, record: ItemRecord, state: SessionState, view: BatchView) -> ItemResult:
    session_id = state.session_id
    messages = [
        read_stored(Message, text, session_id=session_id, part="dialog")
        for _, text in office.streams.all(session_id, "dialog")
    ]
    events = (
        read_stored(MapEvent, text, session_id=session_id, part="events")
        for _, text in office.streams.all(session_id, "events")
    )
    result = result_of(record, state, messages, events)
    if result.state is ItemState.FAILED and view.state == "stopping":
        result = result.model_copy(update={"state": ItemState.CANCELLED})
    if record.result is not None:  # what the attempts before have spent
        before = read_stored(ItemResult, record.result, session_id=view.batch_id, part="items")
        result = result.model_copy(update={"usage": before.usage + result.usage})
    return result


def _settle(office: Office, view: BatchView, record: ItemRecord, result: ItemResult) -> None:
    before = 0, 0
    if record.result is not None:
        usage = read_stored(ItemResult, record.result, session_id=view.batch_id, part="items").usage
        before = usage.tokens, usage.cost_micros
    spent = result.usage.tokens - before[0], result.usage.cost_micros - before[1]
    word = office.store.settle(
        record,
        view.batch_id,
        result.state,
        result.model_dump_json(),
        spent=(max(spent[0], 0), max(spent[1], 0)),
    )
    if result.error:
        log.warning("review %s: %r %s: %s", view.batch_id, record.item.path, word, result.error)
    if word in ("settled", "again"):
        go_on(office, view.batch_id)


def _withdraw(office: Office, batch_id: str, record: ItemRecord) -> None:
    """Cancels an item's session, and has the item settled: who cancels sends the word that an end would."""
    _cancel_session(office, session_of(batch_id, record.number, record.attempt))
    office.queue.send_items(batch_id, [record.number])


def _cancel_session(office: Office, session_id: str) -> None:
    with suppress(LifecycleError, SessionNotFound):
        office.sessions.cancel(session_id, reason="the review was stopped", retention_ms=office.retention_ms)
        office.session_index.settle(session_id)

"""Progress of a batch and its items: dispatch, opening of sessions, results, stop, sweep.

Any process may call every function at any time, also twice: the scripts of the store decide. The end of an
item's session sends a message. If a worker or a message is lost, the sweep continues the batch.
"""

from __future__ import annotations

import logging
from contextlib import suppress

from ...models.errors import InvalidInput, LifecycleError, SessionConflict, SessionNotFound
from ...models.protocol.dialog import Message
from ...models.protocol.events import MapEvent
from ...models.turns.turn import Usage
from ...state.redis.readers import read_stored
from ...state.sessions.records import SessionState
from ..state.queues import BATCH_CHECK_MS
from ..state.records import BatchHead, BatchView, ItemRecord
from ..values.runs import ItemResult, ItemState, RunState
from .completion import deindex_batch, finish_batch
from .context import ReviewContext
from .item_sessions import item_session_id, provider_error, result_of, submission_of

log = logging.getLogger(__name__)

#: Equal errors of a provider in a row that stop a batch: its other requests would fail, too.
MAX_EQUAL_ERRORS = 5
#: Number of batches that a sweep checks at once.
_SWEEP_LIMIT = 100


def advance_batch(context: ReviewContext, batch_id: str) -> None:
    """Dispatch the items that may start now, and end the batch when none is left. Raises RedisUnavailable."""
    word, claimed, overdue, unit = context.store.claim(batch_id)
    match word:
        case "claimed" | "stopping":
            context.queue.send_items(batch_id, [*claimed, *overdue])
        case "late":
            stop_batch(context, batch_id, RunState.PARTIAL, "time limit exceeded")
        case "exhausted":
            stop_batch(context, batch_id, RunState.PARTIAL, f"budget of {unit} exhausted")
        case "idle":
            finish_batch(context, batch_id)
        case "closed" | "missing":
            deindex_batch(context, batch_id)
        case _:  # the upload of its items has not ended
            pass


def stop_batch(context: ReviewContext, batch_id: str, outcome: RunState, reason: str) -> bool:
    """Cancel waiting and running items, and keep the findings so far; False: it has ended. Raises ReviewNotFound."""
    numbers = context.store.stop(batch_id, outcome=outcome.value, reason=reason)
    if numbers is None:
        return False
    for number in numbers:
        record = context.store.item(batch_id, number)
        if record is not None:
            _cancel_session(context, item_session_id(batch_id, number, record.attempt))
    context.queue.send_items(batch_id, numbers)
    if not numbers:
        advance_batch(context, batch_id)
    return True


def advance_item(context: ReviewContext, batch_id: str, number: int) -> None:
    """Do the due work of a running item: open its session, or record its result. Raises ReviewNotFound."""
    record = context.store.item(batch_id, number)
    if record is None or record.state is not ItemState.RUNNING:
        return
    session_id = item_session_id(batch_id, number, record.attempt)
    state = _state(context, session_id)
    # Read the batch after the session, because a stop ends the batch first, then the sessions of its items.
    # Read the item again with it: its result may have been recorded, or its batch stopped and retried, in the
    # meantime.
    view, now = context.store.view_with_item(batch_id, number)
    if now is None or (now.state, now.attempt) != (record.state, record.attempt):
        return
    if state is None:
        _begin(context, view, record)
        return
    context.store.drop_text(batch_id, number)
    if state.is_final:
        _record_result(context, view, record, _result(context, record, state, view))
        return
    if view.state == "stopping":  # the session was opened while the batch was stopped
        _withdraw(context, batch_id, record)


def _state(context: ReviewContext, session_id: str) -> SessionState | None:
    try:
        return context.sessions.state(session_id)
    except SessionNotFound:
        return None


def sweep_batches(context: ReviewContext) -> int:
    """Send a message for every batch that is due. Raises OperationalError, RedisUnavailable."""
    sent = 0
    while True:
        claimed = context.index.claim(limit=_SWEEP_LIMIT, hold_ms=BATCH_CHECK_MS)
        for batch_id in claimed:
            context.queue.send_batch(batch_id)
        sent += len(claimed)
        if len(claimed) < _SWEEP_LIMIT:
            return sent


def _begin(context: ReviewContext, view: BatchView, record: ItemRecord) -> None:
    batch_id, number = view.batch_id, record.number
    if view.state == "stopping":
        _record_result(context, view, record, ItemResult(item=record.item, state=ItemState.CANCELLED))
        return
    head = context.store.head(batch_id)
    opening = _opening(context, head, record)
    if opening is None:
        with suppress(SessionNotFound):  # another process opened the session
            context.sessions.state(item_session_id(batch_id, number, record.attempt))
            return
    try:
        if opening is None:
            raise InvalidInput("text", record.item.path, "has expired: start a new review")
        context.opener.open(submission_of(head, record, opening))
    except (InvalidInput, LifecycleError, SessionConflict) as error:
        failed = ItemResult(item=record.item, state=ItemState.FAILED, error=str(error)[:500])
        _record_result(context, view, record, failed)
        return
    context.store.drop_text(batch_id, number)
    view, now = context.store.view_with_item(batch_id, number)
    if view.state != "running" or now is None or now.attempt != record.attempt:
        # The batch was stopped before this session existed. The item may already have a result, or be
        # retried.
        _withdraw(context, batch_id, record)


def _opening(context: ReviewContext, head: BatchHead, record: ItemRecord) -> str | None:
    """Return the opening of the session, as it was added or from an earlier attempt; None: both are gone."""
    text = context.store.text(head.batch_id, record.number)
    if text is not None:
        return text
    for attempt in range(record.attempt - 1, 0, -1):
        page = context.streams.page(item_session_id(head.batch_id, record.number, attempt), "dialog", count=1)
        if page:
            return read_stored(Message, page[0][1], session_id=head.batch_id, part="dialog").content
    return None


def _result(context: ReviewContext, record: ItemRecord, state: SessionState, view: BatchView) -> ItemResult:
    session_id = state.session_id
    messages = [
        read_stored(Message, text, session_id=session_id, part="dialog")
        for _, text in context.streams.all(session_id, "dialog")
    ]
    events = (
        read_stored(MapEvent, text, session_id=session_id, part="events")
        for _, text in context.streams.all(session_id, "events")
    )
    head = context.store.head(view.batch_id)
    result = result_of(head, record, state, messages, events)
    if head.panel.read_files and (reads := context.files.reads(view.batch_id, record.number)):
        result = result.model_copy(update={"reads": tuple(sorted(reads.items()))})
    if result.state is ItemState.FAILED and view.state == "stopping":
        result = result.model_copy(update={"state": ItemState.CANCELLED})
    return result.model_copy(update={"usage": _earlier_usage(view, record) + result.usage})


def _earlier_usage(view: BatchView, record: ItemRecord) -> Usage:
    """Return the usage of earlier attempts."""
    if record.result is None:
        return Usage()
    return read_stored(ItemResult, record.result, session_id=view.batch_id, part="items").usage


def _record_result(context: ReviewContext, view: BatchView, record: ItemRecord, result: ItemResult) -> None:
    before, now = _earlier_usage(view, record), result.usage
    word, equal_errors = context.store.record_result(
        record,
        view.batch_id,
        result.state,
        result.model_dump_json(),
        spent=(max(now.tokens - before.tokens, 0), max(now.cost_micros - before.cost_micros, 0)),
        error=provider_error(result.error),
    )
    if result.error:
        log.warning(
            "review %s: item %r %s, %s: %s",
            view.batch_id,
            record.item.path,
            result.state.value,
            {"again": "will retry", "settled": "no retry"}.get(word, f"result not recorded ({word})"),
            result.error,
        )
    if equal_errors >= MAX_EQUAL_ERRORS:
        outcome = RunState.PARTIAL if view.done + view.unchanged else RunState.FAILED
        stop_batch(context, view.batch_id, outcome, f"{equal_errors} equal errors in a row: {result.error}")
    elif word in ("settled", "again"):
        advance_batch(context, view.batch_id)


def _withdraw(context: ReviewContext, batch_id: str, record: ItemRecord) -> None:
    """Cancel the session of an item and dispatch the item, so that its result is recorded."""
    _cancel_session(context, item_session_id(batch_id, record.number, record.attempt))
    context.queue.send_items(batch_id, [record.number])


def _cancel_session(context: ReviewContext, session_id: str) -> None:
    with suppress(LifecycleError, SessionNotFound):
        context.sessions.cancel(session_id, reason="review stopped", retention_ms=context.retention_ms)
        context.session_index.mark_cancelled(session_id)

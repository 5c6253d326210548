"""Appending messages to a conversation: those that agents send, and those of sessions.

All messages use this function. It runs in the caller's transaction, under the lock of the conversation's row: so
messages are numbered without gaps in order of arrival, and the listing, the unread counts and the history
show them at the same instant.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Sequence
from itertools import accumulate, count, islice
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from ...models.protocol.dialog import Message
from ...models.text.ids import is_uuid
from ...models.workspace.conversation import IncomingMessage
from ...models.workspace.values import PREVIEW
from ..database.engine import is_storable, storable_text
from ..tables import MESSAGE
from .tables import CONVERSATION

#: Maximum number of ids per query.
_BATCH_SIZE = 500


def lock_conversation_row(connection: Connection, conversation: str) -> Row[Any] | None:
    """Return the conversation's row, locked for this transaction; None: it does not exist."""
    query = select(CONVERSATION).where(CONVERSATION.c.id == conversation).with_for_update()
    return connection.execute(query).one_or_none()


def append_messages(connection: Connection, into: Row[Any], said: Sequence[IncomingMessage]) -> int:
    """Append messages to the conversation of the `locked` row. Messages that it already has are left out.

    Return the number of the newest message.
    """
    known = set(_known(connection, into.id, [it.message_id for it in said]))
    new = [it for it in said if it.message_id not in known]
    if not new:
        return int(into.messages)
    # Last activity as of each message, for listings: it never decreases, although sessions may deliver late.
    times = islice(accumulate((it.at_ms for it in new), max, initial=into.last_ms or 0), 1, None)
    numbers = count(into.messages + 1)
    rows = [_row(into.id, *placed) for placed in zip(numbers, times, new, strict=False)]
    connection.execute(insert(MESSAGE).inline(), rows)
    newest = select(MESSAGE.c.id).where(
        MESSAGE.c.conversation == into.id, MESSAGE.c.seq == into.messages + len(new)
    )
    last_ms = rows[-1]["at_ms"]
    connection.execute(
        update(CONVERSATION)
        .where(CONVERSATION.c.id == into.id)
        .values(
            messages=into.messages + len(new),
            preview=storable_text(new[-1].message.content[:PREVIEW]),
            last_ms=last_ms,
            last_row=newest.scalar_subquery(),
            updated_ms=max(into.updated_ms, last_ms),
        )
    )
    return int(into.messages) + len(new)


def speaker_id(name: str) -> str:
    """Return the speaker as a member id."""
    return storable_text(lower if is_uuid(lower := name.lower()) else name)


def message_columns(message: Message) -> dict[str, str]:
    """Return a message as two columns: its text for search, and the rest as JSON."""
    data = message.to_wire()
    if is_storable(message.content):
        del data["content"]
    return {
        "content": storable_text(message.content),
        "rest": json.dumps(data, ensure_ascii=False, separators=(",", ":")),
    }


def message_from_columns(content: str, rest: str) -> Message:
    """Return the message from the columns of `stored`."""
    return Message.model_validate({"content": content, **json.loads(rest)})


def _known(connection: Connection, conversation: str, ids: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(ids), _BATCH_SIZE):
        some: Iterable[str] = ids[start : start + _BATCH_SIZE]
        query = select(MESSAGE.c.message_id).where(
            MESSAGE.c.conversation == conversation, MESSAGE.c.message_id.in_(some)
        )
        yield from connection.execute(query).scalars()


def _row(conversation: str, number: int, at_ms: int, it: IncomingMessage) -> dict[str, Any]:
    return {
        "conversation": conversation,
        "message_id": it.message_id,
        "at_ms": at_ms,
        "seq": number,
        "role": it.message.role.value,
        "speaker": it.message.speaker and speaker_id(it.message.speaker),
        "turn": it.message.turn_number,
        **message_columns(it.message),
    }

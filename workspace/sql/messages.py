"""Messages of conversations, sent by agents or delivered from archived sessions.

`append_messages` writes all messages, in the caller's transaction and under the lock of the conversation's
row. So messages are numbered without gaps in order of arrival, and lists, unread counts and history show
them at the same instant. Messages of a session are delivered once, in the transaction that archives them. A
conversation accepts messages that were said while it was open; an agent must have been a member then.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping, Sequence
from itertools import accumulate, count, islice
from typing import Any

from sqlalchemy import Connection, Row, insert, select, update

from ...archive.engine import storable_text
from ...archive.tables import MESSAGE
from ...models.errors import InvalidInput
from ...models.protocol.collab import Collab, ParticipantKind
from ...models.protocol.dialog import Message
from ...models.sessions.archived import ArchivePage, Entry
from ...models.text.ids import derived_id, entry_key, is_uuid
from ..values.conversation import PREVIEW, IncomingMessage, read_agent
from .tables import CONVERSATION, MEMBER, message_columns

#: Maximum number of ids per query.
_BATCH_SIZE = 500


def lock_conversation_row(connection: Connection, conversation: str) -> Row[Any] | None:
    """Return the conversation's row, locked for this transaction; None: it does not exist."""
    query = select(CONVERSATION).where(CONVERSATION.c.id == conversation).with_for_update()
    return connection.execute(query).one_or_none()


def append_messages(connection: Connection, into: Row[Any], messages: Sequence[IncomingMessage]) -> int:
    """Append messages to the conversation of a row from `lock_conversation_row`; known messages are left out.

    Return the number of the newest message.
    """
    known_ids = set(_known(connection, into.id, [incoming.message_id for incoming in messages]))
    new = [incoming for incoming in messages if incoming.message_id not in known_ids]
    if not new:
        return int(into.messages)
    # Last activity as of each message, for lists. It never decreases, although sessions may deliver late.
    times = islice(accumulate((incoming.at_ms for incoming in new), max, initial=into.last_ms or 0), 1, None)
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


def _known(connection: Connection, conversation: str, ids: Sequence[str]) -> Iterator[str]:
    for start in range(0, len(ids), _BATCH_SIZE):
        some: Iterable[str] = ids[start : start + _BATCH_SIZE]
        query = select(MESSAGE.c.message_id).where(
            MESSAGE.c.conversation == conversation, MESSAGE.c.message_id.in_(some)
        )
        yield from connection.execute(query).scalars()


def _row(conversation: str, number: int, at_ms: int, incoming: IncomingMessage) -> dict[str, Any]:
    return {
        "conversation": conversation,
        "message_id": incoming.message_id,
        "at_ms": at_ms,
        "seq": number,
        "role": incoming.message.role.value,
        "speaker": incoming.message.speaker and speaker_id(incoming.message.speaker),
        "turn": incoming.message.turn_number,
        **message_columns(incoming.message),
    }


def deliver_session_messages(connection: Connection, page: ArchivePage) -> None:
    """Append the messages of a page to the conversation of its session, if it has one."""
    conversation = json.loads(page.documents.spec).get("conversation") if page.dialog else None
    into = None if conversation is None else lock_conversation_row(connection, conversation)
    if into is None:  # the session has no conversation, or it was deleted
        return
    arrived = (_incoming(page, entry) for entry in page.dialog)
    accepted = (
        incoming for incoming in arrived if into.archived_ms is None or incoming.at_ms <= into.archived_ms
    )
    by_members = _keep_member_messages(accepted, _non_agents(page), _membership_ends(connection, into.id))
    append_messages(connection, into, list(by_members))


def _incoming(page: ArchivePage, entry: Entry) -> IncomingMessage:
    entry_id, text = entry
    message_id = derived_id(f"{page.session_id} {page.opened_ms} {entry_id}")
    return IncomingMessage(message_id, Message.model_validate_json(text), entry_key(entry_id)[0])


def _keep_member_messages(
    messages: Iterable[IncomingMessage], people: frozenset[str], left: Mapping[str, int | None]
) -> Iterator[IncomingMessage]:
    """Yield the messages, except those of agents that were not members at the time."""
    for incoming in messages:
        speaker = incoming.message.speaker
        if speaker is None or speaker in people:
            yield incoming
            continue
        agent = _agent_id(speaker)
        if agent in left and ((left_ms := left[agent]) is None or incoming.at_ms <= left_ms):
            yield incoming


def _agent_id(speaker: str) -> str:
    """Return the agent's id in the form of members' ids; '' if it is not valid."""
    try:
        return read_agent(speaker)
    except InvalidInput:
        return ""


def _non_agents(page: ArchivePage) -> frozenset[str]:
    """Return the participants that are not agents and need not be members."""
    roster = Collab.model_validate_json(page.documents.collab).participants
    return frozenset(
        participant.participant_id for participant in roster if participant.kind is not ParticipantKind.AGENT
    )


def _membership_ends(connection: Connection, conversation: str) -> dict[str, int | None]:
    """Return the current and former members, with the time at which they left."""
    query = select(MEMBER.c.agent, MEMBER.c.left_ms).where(MEMBER.c.conversation == conversation)
    return {member.agent: member.left_ms for member in connection.execute(query)}

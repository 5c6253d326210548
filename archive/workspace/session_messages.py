"""Delivery of session messages to conversations, in the transaction that archives them.

The archive's own cursor records the archived progress of a session, so each message is delivered once, with any number
of archivers and calls. A conversation accepts messages that were said while it was open, and messages of agents
that they said as members. All other messages stay in the session only.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, Row, select

from ...models.errors import InvalidInput
from ...models.protocol.collab import Collab, ParticipantKind
from ...models.protocol.dialog import Message
from ...models.sessions.archived import ArchivePage, Entry
from ...models.text.ids import derived_id
from ...models.workspace.conversation import IncomingMessage
from ...models.workspace.values import read_agent
from .appending import append_messages, lock_conversation_row
from .tables import MEMBER


def deliver_session_messages(connection: Connection, page: ArchivePage) -> None:
    """Append the messages of a page to the conversation of its session, if it has one."""
    conversation = json.loads(page.documents.spec).get("conversation") if page.dialog else None
    into = None if conversation is None else lock_conversation_row(connection, conversation)
    if into is None:  # the session has none, or it was deleted
        return
    arrived = (_incoming(page, entry) for entry in page.dialog)
    said = _while_open(into, arrived)
    append_messages(
        connection,
        into,
        list(_keep_member_messages(said, _non_agents(page), _membership_ends(connection, into.id))),
    )


def _incoming(page: ArchivePage, entry: Entry) -> IncomingMessage:
    entry_id, text = entry
    at_ms = int(entry_id.partition("-")[0])
    message_id = derived_id(f"{page.session_id} {page.opened_ms} {entry_id}")
    return IncomingMessage(message_id, Message.model_validate_json(text), at_ms)


def _while_open(into: Row[Any], arrived: Iterable[IncomingMessage]) -> Iterator[IncomingMessage]:
    for it in arrived:
        if into.archived_ms is None or it.at_ms <= into.archived_ms:
            yield it


def _keep_member_messages(
    said: Iterable[IncomingMessage], people: frozenset[str], left: Mapping[str, int | None]
) -> Iterator[IncomingMessage]:
    """Yield the messages, except those of agents that were not, or no longer, members."""
    for it in said:
        speaker = it.message.speaker
        if speaker is None or speaker in people:
            yield it
            continue
        agent = _agent_id(speaker)
        if agent in left and ((left_ms := left[agent]) is None or it.at_ms <= left_ms):
            yield it


def _agent_id(speaker: str) -> str:
    """Return the agent's id in the form of members' ids; '' if it is not valid."""
    try:
        return read_agent(speaker)
    except InvalidInput:
        return ""


def _non_agents(page: ArchivePage) -> frozenset[str]:
    """Return the participants that are not agents: they need not be members."""
    roster = Collab.model_validate_json(page.documents.collab).participants
    return frozenset(it.participant_id for it in roster if it.kind is not ParticipantKind.AGENT)


def _membership_ends(connection: Connection, conversation: str) -> dict[str, int | None]:
    """Return the current and former members, with the time at which they left."""
    query = select(MEMBER.c.agent, MEMBER.c.left_ms).where(MEMBER.c.conversation == conversation)
    return {it.agent: it.left_ms for it in connection.execute(query)}

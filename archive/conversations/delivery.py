"""What sessions say, delivered to the conversations they write into, in the transaction that archives it.

The archive's own cursor says how far a session is archived, so each message is delivered once, whoever
archives, and however often. A conversation takes what was said while it was open, and of agents what they
said as members: whatever else a session says stays in the session.
"""

from __future__ import annotations

import json
from collections.abc import Iterable, Iterator, Mapping
from typing import Any

from sqlalchemy import Connection, Row, select

from ...models.archived import Entry, Page
from ...models.collab import Collab, ParticipantKind
from ...models.dialog import Message
from ...models.errors import InvalidInput
from ...models.ids import derived_id
from ...models.tasks.conversation import Incoming
from ...models.tasks.values import read_agent
from .appending import append, locked
from .tables import MEMBER


def deliver(connection: Connection, page: Page) -> None:
    """Appends the messages of a page to the conversation that its session names, if it names one."""
    conversation = json.loads(page.documents.spec).get("conversation") if page.dialog else None
    into = None if conversation is None else locked(connection, conversation)
    if into is None:  # none is named, or it was deleted
        return
    arrived = (_incoming(page, entry) for entry in page.dialog)
    said = _while_open(into, arrived)
    append(connection, into, list(_by_members(said, _people(page), _left(connection, into.id))))


def _incoming(page: Page, entry: Entry) -> Incoming:
    entry_id, text = entry
    at_ms = int(entry_id.partition("-")[0])
    message_id = derived_id(f"{page.session_id} {page.opened_ms} {entry_id}")
    return Incoming(message_id, Message.model_validate_json(text), at_ms)


def _while_open(into: Row[Any], arrived: Iterable[Incoming]) -> Iterator[Incoming]:
    for it in arrived:
        if into.archived_ms is None or it.at_ms <= into.archived_ms:
            yield it


def _by_members(
    said: Iterable[Incoming], people: frozenset[str], left: Mapping[str, int | None]
) -> Iterator[Incoming]:
    """Without what agents said who were no members (any more)."""
    for it in said:
        speaker = it.message.speaker
        if speaker is None or speaker in people:
            yield it
            continue
        agent = _named(speaker)
        if agent in left and ((left_ms := left[agent]) is None or it.at_ms <= left_ms):
            yield it


def _named(speaker: str) -> str:
    """The agent's id, as members have it; what is none is nobody's."""
    try:
        return read_agent(speaker)
    except InvalidInput:
        return ""


def _people(page: Page) -> frozenset[str]:
    """Participants that are no agents: they need not be members."""
    roster = Collab.model_validate_json(page.documents.collab).participants
    return frozenset(it.participant_id for it in roster if it.kind is not ParticipantKind.AGENT)


def _left(connection: Connection, conversation: str) -> dict[str, int | None]:
    """Who is or was a member, and when they left."""
    query = select(MEMBER.c.agent, MEMBER.c.left_ms).where(MEMBER.c.conversation == conversation)
    return {it.agent: it.left_ms for it in connection.execute(query)}

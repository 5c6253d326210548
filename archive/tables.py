"""The tables of the archive.

A session is a row of `collab` with an `id` of its own, since a `collab_id` may be used again once
the live keys of its session have expired. Times are milliseconds since the epoch. An entry of a
stream keeps its id in `at_ms` and `seq`, which also order it.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import BigInteger, Index, Integer, MetaData, PrimaryKeyConstraint, UniqueConstraint, text
from sqlmodel import Field, SQLModel

#: Constraints have names, so that a later revision can change them on every database.
METADATA = MetaData(
    naming_convention={
        "ix": "ix_%(table_name)s_%(column_0_N_name)s",
        "uq": "uq_%(table_name)s_%(column_0_N_name)s",
        "fk": "fk_%(table_name)s_%(column_0_N_name)s",
        "pk": "pk_%(table_name)s",
    }
)

#: 64 bits; a key of SQLite counts by itself only as INTEGER, which has as many.
Big = BigInteger().with_variant(Integer(), "sqlite")


class Table(SQLModel):
    """Base of the tables: their metadata is the archive's own."""

    metadata = METADATA


def _session(**more: Any) -> Any:
    return Field(foreign_key="collab.id", ondelete="CASCADE", sa_type=Big, **more)


def _conversation(**more: Any) -> Any:
    return Field(default=None, foreign_key="conversation.id", ondelete="CASCADE", **more)


class CollabRow(Table, table=True):
    """A session: what it is about, how far it is, and how far its archive is."""

    __tablename__: ClassVar[str] = "collab"
    __table_args__ = (
        UniqueConstraint("collab_id", "opened_ms"),
        Index(None, "opened_ms", "id"),
        Index(None, "ended_ms"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Big)
    collab_id: str
    opened_ms: int = Field(sa_type=Big)
    context_id: str
    title: str
    mode: str
    tenant: str | None = None
    user_id: str | None = Field(default=None, index=True)
    #: The collab and the spec as submitted, as JSON.
    collab: str
    spec: str
    #: As in the newest snapshot, under the names of the session hash.
    status: str = "draft"
    reason: str | None = None
    detail: str | None = None
    closed: int = 0
    rounds: int = 0
    messages: int = Field(default=0, sa_type=Big)
    input_tokens: int = Field(default=0, sa_type=Big)
    output_tokens: int = Field(default=0, sa_type=Big)
    cached_tokens: int = Field(default=0, sa_type=Big)
    requests: int = Field(default=0, sa_type=Big)
    cost_micros: int = Field(default=0, sa_type=Big)
    updated_ms: int = Field(default=0, sa_type=Big)
    ended_ms: int | None = Field(default=None, sa_type=Big)
    #: The newest archived entry of each stream.
    dialog_mark: str = "0-0"
    events_mark: str = "0-0"
    journal_mark: str = "0-0"


class ParticipantRow(Table, table=True):
    """One who takes part, by place in the roster."""

    __tablename__: ClassVar[str] = "participant"
    __table_args__ = (PrimaryKeyConstraint("session", "position"), Index(None, "participant_id", "session"))

    session: int = _session()
    position: int
    participant_id: str
    role_id: str | None = None
    kind: str
    display_name: str | None = None


class TagRow(Table, table=True):
    """A tag of a session's meta."""

    __tablename__: ClassVar[str] = "tag"
    __table_args__ = (PrimaryKeyConstraint("session", "tag"), Index(None, "tag", "session"))

    session: int = _session()
    tag: str


class SnapshotRow(Table, table=True):
    """The hashes of a session, as JSON: what it is shown and made anew from."""

    __tablename__: ClassVar[str] = "snapshot"

    session: int = _session(primary_key=True, sa_column_kwargs={"autoincrement": False})
    fields: str
    turns: str
    board: str


class DialogRow(Table, table=True):
    """The dialog of a session, or of a conversation, whose id it then has."""

    __tablename__: ClassVar[str] = "dialog"

    id: int | None = Field(default=None, primary_key=True, sa_type=Big)
    session: int | None = _session(default=None, unique=True)
    conversation: str | None = _conversation(unique=True)
    dialog_id: str = Field(index=True)
    thread_id: str | None = Field(default=None, index=True)
    status: str = "active"


class MessageRow(Table, table=True):
    """A message of a session's dialog, or of a conversation's.

    A conversation numbers its messages from 1 on in `seq`, in the order in which they came; their `at_ms` never goes back.
    """

    __tablename__: ClassVar[str] = "message"
    __table_args__ = (
        UniqueConstraint("session", "at_ms", "seq"),
        UniqueConstraint("conversation", "seq"),
        UniqueConstraint("conversation", "message_id"),
        # How many of the messages behind a reader's position are its own.
        Index(
            None,
            *("conversation", "speaker", "seq"),
            sqlite_where=text("conversation IS NOT NULL"),
            postgresql_where=text("conversation IS NOT NULL"),
        ),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Big)
    session: int | None = _session(default=None)
    conversation: str | None = _conversation()
    #: In a conversation: what it is replied to by.
    message_id: str | None = None
    at_ms: int = Field(sa_type=Big)
    seq: int = Field(sa_type=Big)
    role: str
    speaker: str | None = None
    turn: int | None = None
    #: What was said, as it is searched.
    content: str
    #: The rest of the message, as JSON; with its content, where SQL cannot carry that.
    rest: str


class MapEventRow(Table, table=True):
    """A MAP event."""

    __tablename__: ClassVar[str] = "map_event"
    __table_args__ = (PrimaryKeyConstraint("session", "at_ms", "seq"),)

    session: int = _session()
    at_ms: int = Field(sa_type=Big)
    seq: int = Field(sa_type=Big)
    event_type: str
    body: str


class CollabEventRow(Table, table=True):
    """An event of the collab that MAP has no type for: the journal."""

    __tablename__: ClassVar[str] = "collab_event"
    __table_args__ = (PrimaryKeyConstraint("session", "at_ms", "seq"),)

    session: int = _session()
    at_ms: int = Field(sa_type=Big)
    seq: int = Field(sa_type=Big)
    event_type: str
    body: str


class TurnRow(Table, table=True):
    """One attempt at a turn: a grant, by its token."""

    __tablename__: ClassVar[str] = "turn"
    __table_args__ = (PrimaryKeyConstraint("session", "token_id"),)

    session: int = _session()
    token_id: str
    number: int
    attempt: int = 0
    fence: int = Field(default=0, sa_type=Big)
    participant: str | None = None
    began_ms: int | None = Field(default=None, sa_type=Big)
    ended_ms: int | None = Field(default=None, sa_type=Big)
    outcome: str | None = None
    error: str | None = None
    input_tokens: int = Field(default=0, sa_type=Big)
    output_tokens: int = Field(default=0, sa_type=Big)
    cached_tokens: int = Field(default=0, sa_type=Big)
    requests: int = Field(default=0, sa_type=Big)
    cost_micros: int = Field(default=0, sa_type=Big)


COLLAB = METADATA.tables["collab"]
PARTICIPANT = METADATA.tables["participant"]
TAG = METADATA.tables["tag"]
SNAPSHOT = METADATA.tables["snapshot"]
DIALOG = METADATA.tables["dialog"]
MESSAGE = METADATA.tables["message"]
MAP_EVENT = METADATA.tables["map_event"]
COLLAB_EVENT = METADATA.tables["collab_event"]
TURN = METADATA.tables["turn"]

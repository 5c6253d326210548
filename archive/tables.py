"""The tables of the archive.

A session is a row of `collab` with its own `id`, because a `collab_id` may be used again after
the live keys of its session have expired. Times are milliseconds since the epoch. The columns `at_ms` and
`seq` are the id of a stream entry and define the order.
"""

from __future__ import annotations

from typing import Any, ClassVar

from sqlalchemy import BigInteger, Index, Integer, MetaData, PrimaryKeyConstraint, UniqueConstraint
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

#: Integer of 64 bits; SQLite increments a key automatically only if it is INTEGER, which also has 64 bits.
Big = BigInteger().with_variant(Integer(), "sqlite")


class Table(SQLModel):
    """Base of the tables, with the metadata of the archive."""

    metadata = METADATA


def _session(**more: Any) -> Any:
    return Field(foreign_key="collab.id", ondelete="CASCADE", sa_type=Big, **more)


def _conversation(**more: Any) -> Any:
    return Field(default=None, foreign_key="conversation.id", ondelete="CASCADE", **more)


class CollabRow(Table, table=True):
    """A session: its documents, its state, and its archived progress."""

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
    #: Collab and spec of the session, as JSON.
    collab: str
    spec: str
    #: Values of the newest snapshot, by their names in the session hash.
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
    #: Id of the newest archived entry of each stream.
    dialog_mark: str = "0-0"
    events_mark: str = "0-0"
    journal_mark: str = "0-0"


class ParticipantRow(Table, table=True):
    """A participant, by position in the roster."""

    __tablename__: ClassVar[str] = "participant"
    __table_args__ = (PrimaryKeyConstraint("session", "position"), Index(None, "participant_id", "session"))

    session: int = _session()
    position: int
    participant_id: str
    role_id: str | None = None
    kind: str
    display_name: str | None = None


class AgentRow(Table, table=True):
    """The agent of a participant by the session's spec; a trigger fills it: see `additions.py`."""

    __tablename__: ClassVar[str] = "session_agent"
    __table_args__ = (PrimaryKeyConstraint("session", "participant"), Index(None, "agent", "session"))

    session: int = _session()
    participant: str
    agent: str


class TagRow(Table, table=True):
    """A tag of a session's meta."""

    __tablename__: ClassVar[str] = "tag"
    __table_args__ = (PrimaryKeyConstraint("session", "tag"), Index(None, "tag", "session"))

    session: int = _session()
    tag: str


class SnapshotRow(Table, table=True):
    """The hashes of a session, as JSON: for display and restore."""

    __tablename__: ClassVar[str] = "snapshot"

    session: int = _session(primary_key=True, sa_column_kwargs={"autoincrement": False})
    fields: str
    turns: str
    board: str


class DialogRow(Table, table=True):
    """The dialog of a session or of a conversation; a conversation's dialog has the same id."""

    __tablename__: ClassVar[str] = "dialog"

    id: int | None = Field(default=None, primary_key=True, sa_type=Big)
    session: int | None = _session(default=None, unique=True)
    conversation: str | None = _conversation(unique=True)
    dialog_id: str = Field(index=True)
    thread_id: str | None = Field(default=None, index=True)
    status: str = "active"


class MessageRow(Table, table=True):
    """A message in the dialog of a session or of a conversation.

    A conversation numbers its messages from 1 in `seq`, in order of arrival; their `at_ms` never decreases.
    """

    __tablename__: ClassVar[str] = "message"
    __table_args__ = (
        UniqueConstraint("session", "at_ms", "seq"),
        UniqueConstraint("conversation", "seq"),
        UniqueConstraint("conversation", "message_id"),
    )

    id: int | None = Field(default=None, primary_key=True, sa_type=Big)
    session: int | None = _session(default=None)
    conversation: str | None = _conversation()
    #: Id of a message in a conversation, to which replies refer.
    message_id: str | None = None
    at_ms: int = Field(sa_type=Big)
    seq: int = Field(sa_type=Big)
    role: str
    speaker: str | None = None
    turn: int | None = None
    #: Text of the message, for search.
    content: str
    #: The rest of the message, as JSON; includes the content if SQL cannot store it.
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
    """A journal event, which has no MAP event type."""

    __tablename__: ClassVar[str] = "collab_event"
    __table_args__ = (PrimaryKeyConstraint("session", "at_ms", "seq"),)

    session: int = _session()
    at_ms: int = Field(sa_type=Big)
    seq: int = Field(sa_type=Big)
    event_type: str
    body: str


class TurnRow(Table, table=True):
    """One attempt of a turn: a grant, by its token."""

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


class RecordedTurnRow(Table, table=True):
    """The record of a written turn, by its token, in a session that records its calls."""

    __tablename__: ClassVar[str] = "recorded_turn"
    __table_args__ = (PrimaryKeyConstraint("session", "token_id"),)

    session: int = _session()
    token_id: str
    #: The record as JSON, compressed with zlib.
    body: bytes


class BlobRow(Table, table=True):
    """Bytes of attachments by their digest, once for all sessions."""

    __tablename__: ClassVar[str] = "blob"

    sha256: str = Field(primary_key=True)
    body: bytes


class AttachmentRow(Table, table=True):
    """A session that has an attachment."""

    __tablename__: ClassVar[str] = "attachment"
    __table_args__ = (PrimaryKeyConstraint("session", "sha256"),)

    session: int = _session()
    sha256: str = Field(foreign_key="blob.sha256", index=True)


COLLAB = METADATA.tables["collab"]
PARTICIPANT = METADATA.tables["participant"]
AGENT = METADATA.tables["session_agent"]
TAG = METADATA.tables["tag"]
SNAPSHOT = METADATA.tables["snapshot"]
DIALOG = METADATA.tables["dialog"]
MESSAGE = METADATA.tables["message"]
MAP_EVENT = METADATA.tables["map_event"]
COLLAB_EVENT = METADATA.tables["collab_event"]
TURN = METADATA.tables["turn"]
RECORDED_TURN = METADATA.tables["recorded_turn"]
BLOB = METADATA.tables["blob"]
ATTACHMENT = METADATA.tables["attachment"]

"""Tables of sessions: metadata, messages, events and turns."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0001"
down_revision = None

#: Tables in the order of their references.
_TABLES = (
    *("collab", "participant", "tag", "snapshot", "dialog"),
    *("message", "map_event", "collab_event", "turn"),
)
_COUNTS = ("input_tokens", "output_tokens", "cached_tokens", "requests", "cost_micros")


def upgrade() -> None:
    """Create the tables."""
    _collab()
    _roster()
    _newest()
    _streams()
    _turn()


def downgrade() -> None:
    """Drop the tables with their contents."""
    for table in reversed(_TABLES):
        op.drop_table(table)


def _big() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _text(name: str, *, optional: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=optional)


def _number(name: str, *, optional: bool = False) -> sa.Column[int]:
    return sa.Column(name, sa.Integer(), nullable=optional)


def _long(name: str, *, optional: bool = False) -> sa.Column[int]:
    return sa.Column(name, _big(), nullable=optional)


def _id() -> sa.Column[int]:
    return sa.Column("id", _big(), primary_key=True)


def _session(*, alone: bool = False) -> sa.Column[int]:
    refers = sa.ForeignKey("collab.id", ondelete="CASCADE")
    if alone:
        return sa.Column("session", _big(), refers, primary_key=True, autoincrement=False)
    return sa.Column("session", _big(), refers, nullable=False)


def _index(table: str, *columns: str) -> None:
    op.create_index(f"ix_{table}_{'_'.join(columns)}", table, list(columns))


def _collab() -> None:
    op.create_table(
        "collab",
        _id(),
        *(_text("collab_id"), _long("opened_ms"), _text("context_id"), _text("title"), _text("mode")),
        *(_text("tenant", optional=True), _text("user_id", optional=True), _text("collab"), _text("spec")),
        *(_text("status"), _text("reason", optional=True), _text("detail", optional=True)),
        *(_number("closed"), _number("rounds"), _long("messages"), *map(_long, _COUNTS)),
        *(_long("updated_ms"), _long("ended_ms", optional=True)),
        *(_text("dialog_mark"), _text("events_mark"), _text("journal_mark")),
        sa.UniqueConstraint("collab_id", "opened_ms", name="uq_collab_collab_id_opened_ms"),
    )
    _index("collab", "opened_ms", "id")
    _index("collab", "ended_ms")
    _index("collab", "user_id")


def _roster() -> None:
    op.create_table(
        "participant",
        *(_session(), _number("position"), _text("participant_id"), _text("role_id", optional=True)),
        *(_text("kind"), _text("display_name", optional=True)),
        sa.PrimaryKeyConstraint("session", "position", name="pk_participant"),
    )
    _index("participant", "participant_id", "session")
    op.create_table(
        "tag",
        *(_session(), _text("tag")),
        sa.PrimaryKeyConstraint("session", "tag", name="pk_tag"),
    )
    _index("tag", "tag", "session")


def _newest() -> None:
    op.create_table("snapshot", _session(alone=True), _text("fields"), _text("turns"), _text("board"))
    op.create_table(
        "dialog",
        *(_session(alone=True), _text("dialog_id"), _text("thread_id", optional=True), _text("status")),
    )
    _index("dialog", "dialog_id")
    _index("dialog", "thread_id")


def _streams() -> None:
    op.create_table(
        "message",
        *(_id(), _session(), _long("at_ms"), _long("seq"), _text("role"), _text("speaker", optional=True)),
        *(_number("turn", optional=True), _text("content"), _text("rest")),
        sa.UniqueConstraint("session", "at_ms", "seq", name="uq_message_session_at_ms_seq"),
    )
    for table in ("map_event", "collab_event"):
        op.create_table(
            table,
            *(_session(), _long("at_ms"), _long("seq"), _text("event_type"), _text("body")),
            sa.PrimaryKeyConstraint("session", "at_ms", "seq", name=f"pk_{table}"),
        )


def _turn() -> None:
    op.create_table(
        "turn",
        *(_session(), _text("token_id"), _number("number"), _number("attempt"), _long("fence")),
        *(_text("participant", optional=True), _long("began_ms", optional=True)),
        *(_long("ended_ms", optional=True), _text("outcome", optional=True), _text("error", optional=True)),
        *map(_long, _COUNTS),
        sa.PrimaryKeyConstraint("session", "token_id", name="pk_turn"),
    )

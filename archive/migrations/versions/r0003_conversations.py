"""Tables of tasks and conversations. Dialogs and messages belong to a session or to a conversation."""

from __future__ import annotations

import sqlalchemy as sa
from alembic import op

revision = "0003"
down_revision = "0002"

#: Tables in the order of their references.
_TABLES = ("task", "task_participant", "conversation", "conversation_participant")
_OWN = "ix_message_conversation_speaker_seq"
#: SQLite changes a table by rebuilding it without its triggers; these triggers maintain the full-text index.
_TRIGGERS = (
    """CREATE TRIGGER message_words_added AFTER INSERT ON message BEGIN
        INSERT INTO message_words(rowid, content) VALUES (new.id, new.content); END""",
    """CREATE TRIGGER message_words_gone AFTER DELETE ON message BEGIN
        INSERT INTO message_words(message_words, rowid, content) VALUES ('delete', old.id, old.content); END""",
)


def upgrade() -> None:
    """Create the tables, and let dialogs and messages refer to conversations."""
    _tasks()
    _conversations()
    _dialogs(for_conversations=True)
    with op.batch_alter_table("message") as message:
        message.alter_column("session", existing_type=_big(), nullable=True)
        message.add_column(_text("conversation", optional=True))
        message.add_column(_text("message_id", optional=True))
        message.create_foreign_key(
            "fk_message_conversation", "conversation", ["conversation"], ["id"], ondelete="CASCADE"
        )
        message.create_unique_constraint("uq_message_conversation_seq", ["conversation", "seq"])
        message.create_unique_constraint("uq_message_conversation_message_id", ["conversation", "message_id"])
    op.create_index(
        _OWN,
        "message",
        ["conversation", "speaker", "seq"],
        sqlite_where=sa.text("conversation IS NOT NULL"),
        postgresql_where=sa.text("conversation IS NOT NULL"),
    )
    _restore_triggers()


def downgrade() -> None:
    """Drop tasks and conversations with all their messages."""
    op.execute("DELETE FROM message WHERE session IS NULL")
    op.drop_index(_OWN, "message")
    with op.batch_alter_table("message") as message:
        message.drop_constraint("uq_message_conversation_message_id", type_="unique")
        message.drop_constraint("uq_message_conversation_seq", type_="unique")
        message.drop_constraint("fk_message_conversation", type_="foreignkey")
        message.drop_column("message_id")
        message.drop_column("conversation")
        message.alter_column("session", existing_type=_big(), nullable=False)
    _restore_triggers()
    _dialogs(for_conversations=False)
    for table in reversed(_TABLES):
        op.drop_table(table)


def _big() -> sa.types.TypeEngine[int]:
    return sa.BigInteger().with_variant(sa.Integer(), "sqlite")


def _text(name: str, *, optional: bool = False) -> sa.Column[str]:
    return sa.Column(name, sa.String(), nullable=optional)


def _long(name: str, *, optional: bool = False) -> sa.Column[int]:
    return sa.Column(name, _big(), nullable=optional)


def _refers(name: str, to: str, *, kind: sa.types.TypeEngine[object] | None = None) -> sa.Column[object]:
    return sa.Column(name, kind or sa.String(), sa.ForeignKey(f"{to}.id", ondelete="CASCADE"), nullable=False)


def _tasks() -> None:
    op.create_table(
        "task",
        sa.Column("id", sa.String(), primary_key=True),
        *(_text("app"), _text("task_manager"), _text("created_by"), _text("status")),
        *(_text("reason", optional=True), _long("decide_by_ms")),
        *(_long("created_ms"), _long("updated_ms"), _long("ended_ms", optional=True)),
    )
    op.create_index("ix_task_status_decide_by_ms", "task", ["status", "decide_by_ms"])
    op.create_index("ix_task_task_manager", "task", ["task_manager"])
    op.create_table(
        "task_participant",
        *(_refers("task", "task"), _text("agent"), _long("admitted_ms")),
        sa.PrimaryKeyConstraint("task", "agent", name="pk_task_participant"),
    )
    op.create_index("ix_task_participant_agent_task", "task_participant", ["agent", "task"])


def _conversations() -> None:
    op.create_table(
        "conversation",
        *(sa.Column("id", sa.String(), primary_key=True), _refers("task", "task")),
        *(_text("name", optional=True), _text("created_by"), _text("tags", optional=True)),
        *(_long("messages"), _text("preview", optional=True), _long("last_ms", optional=True)),
        *(_long("last_row"), _long("archived_ms", optional=True), _long("created_ms"), _long("updated_ms")),
    )
    op.create_index("ix_conversation_task", "conversation", ["task"])
    op.create_table(
        "conversation_participant",
        *(_refers("conversation", "conversation"), _text("agent"), _long("joined_ms")),
        *(_long("left_ms", optional=True), _long("read_seq")),
        sa.PrimaryKeyConstraint("conversation", "agent", name="pk_conversation_participant"),
    )
    op.create_index(
        "ix_conversation_participant_agent_conversation",
        "conversation_participant",
        ["agent", "conversation"],
    )


def _dialogs(*, for_conversations: bool) -> None:
    """Rebuild `dialog` with its rows, because its primary key changes."""
    op.execute(
        "CREATE TABLE dialog_kept AS SELECT session, dialog_id, thread_id, status FROM dialog WHERE session IS NOT NULL"
    )
    op.drop_table("dialog")
    session = sa.ForeignKey("collab.id", ondelete="CASCADE")
    if for_conversations:
        owners: list[sa.schema.SchemaItem] = [
            sa.Column("id", _big(), primary_key=True),
            sa.Column("session", _big(), session, nullable=True, unique=True),
            sa.Column(
                "conversation",
                sa.String(),
                sa.ForeignKey("conversation.id", ondelete="CASCADE"),
                nullable=True,
                unique=True,
            ),
        ]
    else:
        owners = [sa.Column("session", _big(), session, primary_key=True, autoincrement=False)]
    op.create_table("dialog", *owners, _text("dialog_id"), _text("thread_id", optional=True), _text("status"))
    for column in ("dialog_id", "thread_id"):
        op.create_index(f"ix_dialog_{column}", "dialog", [column])
    op.execute(
        "INSERT INTO dialog (session, dialog_id, thread_id, status) "
        "SELECT session, dialog_id, thread_id, status FROM dialog_kept"
    )
    op.drop_table("dialog_kept")


def _restore_triggers() -> None:
    if op.get_bind().dialect.name == "sqlite":
        for trigger in _TRIGGERS:
            op.execute(trigger)

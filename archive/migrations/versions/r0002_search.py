"""The full text of messages: FTS5 on SQLite, a text search vector on PostgreSQL."""

from __future__ import annotations

from alembic import op

revision = "0002"
down_revision = "0001"

#: The index reads the text of a message from its row. Accents are significant, as on PostgreSQL.
_SQLITE = (
    """CREATE VIRTUAL TABLE message_words USING fts5(
        content, content='message', content_rowid='id', tokenize='unicode61 remove_diacritics 0')""",
    """CREATE TRIGGER message_words_added AFTER INSERT ON message BEGIN
        INSERT INTO message_words(rowid, content) VALUES (new.id, new.content); END""",
    """CREATE TRIGGER message_words_gone AFTER DELETE ON message BEGIN
        INSERT INTO message_words(message_words, rowid, content) VALUES ('delete', old.id, old.content); END""",
    "INSERT INTO message_words(message_words) VALUES ('rebuild')",
)
#: A vector has room for 1 MB, so only the first 200,000 characters of a longer message are indexed.
_POSTGRESQL = (
    """CREATE INDEX ix_message_words ON message
        USING gin (to_tsvector('simple'::regconfig, left(content, 200000)))""",
)


def upgrade() -> None:
    """Index the existing messages, and every new one."""
    for statement in _SQLITE if _is_sqlite() else _POSTGRESQL:
        op.execute(statement)


def downgrade() -> None:
    """Drop the index."""
    if _is_sqlite():
        for statement in ("DROP TRIGGER message_words_added", "DROP TRIGGER message_words_gone"):
            op.execute(statement)
        op.execute("DROP TABLE message_words")
    else:
        op.execute("DROP INDEX ix_message_words")


def _is_sqlite() -> bool:
    return op.get_bind().dialect.name == "sqlite"

"""All tables of the archive. Release 0.1.0 has the same ones, made by its revisions up to this one."""

from __future__ import annotations

from alembic import op

revision = "0011"
down_revision = None

#: What types are called: a 64-bit integer, the same as a key that counts up, and bytes.
_TYPES = {
    "sqlite": {"big": "INTEGER", "key": "INTEGER NOT NULL", "bytes": "BLOB"},
    "postgresql": {"big": "BIGINT", "key": "BIGSERIAL NOT NULL", "bytes": "BYTEA"},
}
_SPENT = ", ".join(
    f"{name} {{big}} NOT NULL"
    for name in ("input_tokens", "output_tokens", "cached_tokens", "requests", "cost_micros")
)
_EVENT = "at_ms {big} NOT NULL, seq {big} NOT NULL, event_type VARCHAR NOT NULL, body VARCHAR NOT NULL"


def _refers(table: str, column: str, to: str) -> str:
    constraint = f"CONSTRAINT fk_{table}_{column} FOREIGN KEY ({column})"
    return f"{constraint} REFERENCES {to} (id) ON DELETE CASCADE"


#: Columns and constraints of each table, in the order of their references.
_TABLES = {
    "collab": f"""id {{key}}, collab_id VARCHAR NOT NULL, opened_ms {{big}} NOT NULL, context_id VARCHAR NOT NULL,
        title VARCHAR NOT NULL, mode VARCHAR NOT NULL, tenant VARCHAR, user_id VARCHAR, collab VARCHAR NOT NULL,
        spec VARCHAR NOT NULL, status VARCHAR NOT NULL, reason VARCHAR, detail VARCHAR, closed INTEGER NOT NULL,
        rounds INTEGER NOT NULL, messages {{big}} NOT NULL, {_SPENT}, updated_ms {{big}} NOT NULL, ended_ms {{big}},
        dialog_mark VARCHAR NOT NULL, events_mark VARCHAR NOT NULL, journal_mark VARCHAR NOT NULL,
        CONSTRAINT pk_collab PRIMARY KEY (id),
        CONSTRAINT uq_collab_collab_id_opened_ms UNIQUE (collab_id, opened_ms)""",
    "participant": f"""session {{big}} NOT NULL, position INTEGER NOT NULL, participant_id VARCHAR NOT NULL,
        role_id VARCHAR, kind VARCHAR NOT NULL, display_name VARCHAR,
        CONSTRAINT pk_participant PRIMARY KEY (session, position), {_refers("participant", "session", "collab")}""",
    "tag": f"""session {{big}} NOT NULL, tag VARCHAR NOT NULL,
        CONSTRAINT pk_tag PRIMARY KEY (session, tag), {_refers("tag", "session", "collab")}""",
    "snapshot": f"""session {{big}} NOT NULL, fields VARCHAR NOT NULL, turns VARCHAR NOT NULL, board VARCHAR NOT NULL,
        CONSTRAINT pk_snapshot PRIMARY KEY (session), {_refers("snapshot", "session", "collab")}""",
    "map_event": f"""session {{big}} NOT NULL, {_EVENT},
        CONSTRAINT pk_map_event PRIMARY KEY (session, at_ms, seq), {_refers("map_event", "session", "collab")}""",
    "collab_event": f"""session {{big}} NOT NULL, {_EVENT},
        CONSTRAINT pk_collab_event PRIMARY KEY (session, at_ms, seq), {_refers("collab_event", "session", "collab")}""",
    "turn": f"""session {{big}} NOT NULL, token_id VARCHAR NOT NULL, number INTEGER NOT NULL,
        attempt INTEGER NOT NULL, fence {{big}} NOT NULL, participant VARCHAR, began_ms {{big}}, ended_ms {{big}},
        outcome VARCHAR, error VARCHAR, {_SPENT},
        CONSTRAINT pk_turn PRIMARY KEY (session, token_id), {_refers("turn", "session", "collab")}""",
    "recorded_turn": f"""session {{big}} NOT NULL, token_id VARCHAR NOT NULL, body {{bytes}} NOT NULL,
        CONSTRAINT pk_recorded_turn PRIMARY KEY (session, token_id), {_refers("recorded_turn", "session", "collab")}""",
    "blob": "sha256 VARCHAR NOT NULL, body {bytes} NOT NULL, CONSTRAINT pk_blob PRIMARY KEY (sha256)",
    "attachment": f"""session {{big}} NOT NULL, sha256 VARCHAR NOT NULL,
        CONSTRAINT pk_attachment PRIMARY KEY (session, sha256), {_refers("attachment", "session", "collab")},
        CONSTRAINT fk_attachment_sha256 FOREIGN KEY (sha256) REFERENCES blob (sha256)""",
    "task": """id VARCHAR NOT NULL, app VARCHAR NOT NULL, task_manager VARCHAR NOT NULL,
        created_by VARCHAR NOT NULL, status VARCHAR NOT NULL, reason VARCHAR, decide_by_ms {big} NOT NULL,
        created_ms {big} NOT NULL, updated_ms {big} NOT NULL, ended_ms {big}, CONSTRAINT pk_task PRIMARY KEY (id)""",
    "task_participant": f"""task VARCHAR NOT NULL, agent VARCHAR NOT NULL, admitted_ms {{big}} NOT NULL,
        CONSTRAINT pk_task_participant PRIMARY KEY (task, agent), {_refers("task_participant", "task", "task")}""",
    "conversation": f"""id VARCHAR NOT NULL, task VARCHAR NOT NULL, name VARCHAR, created_by VARCHAR NOT NULL,
        tags VARCHAR, messages {{big}} NOT NULL, preview VARCHAR, last_ms {{big}}, last_row {{big}} NOT NULL,
        archived_ms {{big}}, created_ms {{big}} NOT NULL, updated_ms {{big}} NOT NULL,
        CONSTRAINT pk_conversation PRIMARY KEY (id), {_refers("conversation", "task", "task")}""",
    "conversation_participant": f"""conversation VARCHAR NOT NULL, agent VARCHAR NOT NULL,
        joined_ms {{big}} NOT NULL, left_ms {{big}}, read_seq {{big}} NOT NULL,
        CONSTRAINT pk_conversation_participant PRIMARY KEY (conversation, agent),
        {_refers("conversation_participant", "conversation", "conversation")}""",
    "dialog": f"""id {{key}}, session {{big}}, conversation VARCHAR, dialog_id VARCHAR NOT NULL, thread_id VARCHAR,
        status VARCHAR NOT NULL, CONSTRAINT pk_dialog PRIMARY KEY (id),
        CONSTRAINT uq_dialog_session UNIQUE (session), {_refers("dialog", "session", "collab")},
        CONSTRAINT uq_dialog_conversation UNIQUE (conversation), {_refers("dialog", "conversation", "conversation")}""",
    "message": f"""id {{key}}, session {{big}}, at_ms {{big}} NOT NULL, seq {{big}} NOT NULL, role VARCHAR NOT NULL,
        speaker VARCHAR, turn INTEGER, content VARCHAR NOT NULL, rest VARCHAR NOT NULL, conversation VARCHAR,
        message_id VARCHAR, CONSTRAINT pk_message PRIMARY KEY (id),
        CONSTRAINT uq_message_session_at_ms_seq UNIQUE (session, at_ms, seq),
        CONSTRAINT uq_message_conversation_seq UNIQUE (conversation, seq),
        CONSTRAINT uq_message_conversation_message_id UNIQUE (conversation, message_id),
        {_refers("message", "session", "collab")}, {_refers("message", "conversation", "conversation")}""",
    "review_run": f"""id {{key}}, run_id VARCHAR NOT NULL, root_name VARCHAR NOT NULL, root VARCHAR NOT NULL,
        panel VARCHAR NOT NULL, panel_sha VARCHAR NOT NULL, state VARCHAR NOT NULL, started_ms {{big}} NOT NULL,
        ended_ms {{big}}, revision VARCHAR NOT NULL, summary VARCHAR NOT NULL, skipped VARCHAR NOT NULL, {_SPENT},
        repository_url VARCHAR DEFAULT '' NOT NULL, repository_folder VARCHAR DEFAULT '' NOT NULL,
        branch VARCHAR DEFAULT '' NOT NULL, scope VARCHAR DEFAULT '' NOT NULL,
        CONSTRAINT pk_review_run PRIMARY KEY (id), CONSTRAINT uq_review_run_run_id UNIQUE (run_id)""",
    "review_item": f"""run {{big}} NOT NULL, position INTEGER NOT NULL, item_key VARCHAR NOT NULL,
        path VARCHAR NOT NULL, kind VARCHAR NOT NULL, sha256 VARCHAR NOT NULL, size {{big}} NOT NULL,
        changed VARCHAR, cache_key VARCHAR NOT NULL, state VARCHAR NOT NULL, session_id VARCHAR,
        error VARCHAR NOT NULL, summary VARCHAR NOT NULL, findings VARCHAR NOT NULL, {_SPENT},
        dropped INTEGER DEFAULT '0' NOT NULL, reads VARCHAR DEFAULT '[]' NOT NULL,
        CONSTRAINT pk_review_item PRIMARY KEY (run, position), {_refers("review_item", "run", "review_run")}""",
    "finding": f"""run {{big}} NOT NULL, position INTEGER NOT NULL, fingerprint VARCHAR NOT NULL, status VARCHAR,
        path VARCHAR NOT NULL, start_line INTEGER NOT NULL, end_line INTEGER NOT NULL, rule VARCHAR NOT NULL,
        severity VARCHAR NOT NULL, message VARCHAR NOT NULL, suggestion VARCHAR NOT NULL, confidence FLOAT NOT NULL,
        snippet_sha VARCHAR NOT NULL, agents VARCHAR NOT NULL, aliases VARCHAR NOT NULL,
        details VARCHAR DEFAULT '{{{{}}}}' NOT NULL,
        CONSTRAINT pk_finding PRIMARY KEY (run, position), {_refers("finding", "run", "review_run")}""",
}

#: Columns of the indexes of each table.
_INDEXES = {
    "collab": ("opened_ms, id", "ended_ms", "user_id"),
    "participant": ("participant_id, session",),
    "tag": ("tag, session",),
    "attachment": ("sha256",),
    "task": ("status, decide_by_ms", "task_manager"),
    "task_participant": ("agent, task",),
    "conversation": ("task",),
    "conversation_participant": ("agent, conversation",),
    "dialog": ("dialog_id", "thread_id"),
    "review_run": ("root, panel", "started_ms, id"),
    "review_item": ("cache_key, run",),
    "finding": ("fingerprint",),
}
_OWN_MESSAGES = """CREATE INDEX ix_message_conversation_speaker_seq ON message (conversation, speaker, seq)
    WHERE conversation IS NOT NULL"""

#: The full text of messages. On SQLite the index reads it from the row; accents are significant, as on PostgreSQL,
#: where a vector has room for 1 MB, so only the first 200,000 characters of a longer message are indexed.
_SEARCH = {
    "sqlite": (
        """CREATE VIRTUAL TABLE message_words USING fts5(
        content, content='message', content_rowid='id', tokenize='unicode61 remove_diacritics 0')""",
        """CREATE TRIGGER message_words_added AFTER INSERT ON message BEGIN
        INSERT INTO message_words(rowid, content) VALUES (new.id, new.content); END""",
        """CREATE TRIGGER message_words_gone AFTER DELETE ON message BEGIN
        INSERT INTO message_words(message_words, rowid, content) VALUES ('delete', old.id, old.content); END""",
    ),
    "postgresql": (
        """CREATE INDEX ix_message_words ON message
        USING gin (to_tsvector('simple'::regconfig, left(content, 200000)))""",
    ),
}


def upgrade() -> None:
    """Create the tables."""
    dialect = op.get_bind().dialect.name
    for table, columns in _TABLES.items():
        op.execute(f"CREATE TABLE {table} ({columns.format_map(_TYPES[dialect])})")
    for table, indexes in _INDEXES.items():
        for columns in indexes:
            name = f"ix_{table}_{columns.replace(', ', '_')}"
            op.execute(f"CREATE INDEX {name} ON {table} ({columns})")
    for statement in (_OWN_MESSAGES, *_SEARCH[dialect]):
        op.execute(statement)


def downgrade() -> None:
    """Drop the tables with their contents."""
    op.execute("DROP TABLE IF EXISTS message_words")
    for table in reversed(_TABLES):
        op.execute(f"DROP TABLE {table}")

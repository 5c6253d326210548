"""What the schema has besides its revision: the agents of sessions in a table, and on SQLite an index for lists.

A filter or group by agent would otherwise parse the JSON of every session, and a list on SQLite would read rows that lie
between all messages. This is no Alembic revision, because release 0.1.0 refuses an archive with a newer one. A trigger
fills the table, so sessions that a worker of release 0.1.0 archives are in it, too.
"""

from __future__ import annotations

from sqlalchemy import Connection, inspect, text

from .tables import AGENT

#: JSON that a database cannot read leaves a session without agents; it must not stop the archiving.
_INSERT = """INSERT OR IGNORE INTO session_agent (session, participant, agent)
    SELECT {row}.id, key, json_extract(value, '$.agent')
    FROM {sources} json_each(CASE WHEN json_valid({row}.spec) THEN {row}.spec ELSE '{{}}' END, '$.agents')
    WHERE type = 'object' AND json_extract(value, '$.agent') IS NOT NULL"""
_NEW = _INSERT.format(row="new", sources="")
_OLD = "DELETE FROM session_agent WHERE session = new.id"
_SQLITE = (
    f"CREATE TRIGGER session_agent_added AFTER INSERT ON collab BEGIN {_NEW}; END",
    f"""CREATE TRIGGER session_agent_changed AFTER UPDATE OF spec ON collab WHEN new.spec <> old.spec
    BEGIN {_OLD}; {_NEW}; END""",
    _INSERT.format(row="collab", sources="collab,"),
    # All columns that lists filter and sort by. PostgreSQL has no index of long texts, and stores each table by itself.
    """CREATE INDEX ix_collab_listed ON collab (opened_ms, collab_id, status, reason, detail, title, mode, tenant,
    user_id, closed, input_tokens, output_tokens, cost_micros, updated_ms, ended_ms)""",
)
_POSTGRESQL = (
    """CREATE OR REPLACE FUNCTION add_session_agents(the_session bigint, spec text) RETURNS void LANGUAGE plpgsql
    AS $$ BEGIN
    INSERT INTO session_agent (session, participant, agent)
        SELECT the_session, key, value->>'agent' FROM json_each(spec::json->'agents')
        WHERE value->>'agent' IS NOT NULL;
    EXCEPTION WHEN data_exception OR integrity_constraint_violation OR program_limit_exceeded THEN NULL; END $$""",
    # The user of another worker may have no right to the table.
    """CREATE OR REPLACE FUNCTION change_session_agents() RETURNS trigger LANGUAGE plpgsql
    SECURITY DEFINER SET search_path FROM CURRENT AS $$ BEGIN
    DELETE FROM session_agent WHERE session = NEW.id;
    PERFORM add_session_agents(NEW.id, NEW.spec);
    RETURN NULL; END $$""",
    """CREATE TRIGGER session_agent_added AFTER INSERT ON collab
    FOR EACH ROW EXECUTE FUNCTION change_session_agents()""",
    """CREATE TRIGGER session_agent_changed AFTER UPDATE OF spec ON collab
    FOR EACH ROW WHEN (NEW.spec <> OLD.spec) EXECUTE FUNCTION change_session_agents()""",
    "SET LOCAL statement_timeout = 0",
    "SELECT count(*) FROM (SELECT add_session_agents(id, spec) FROM collab OFFSET 0) AS added",
)


def make_additions(connection: Connection) -> None:
    """Create what is missing, with the agents of all sessions. The caller locks against other migrations."""
    if inspect(connection).has_table(AGENT.name):
        return
    AGENT.create(connection)
    for statement in _SQLITE if connection.dialect.name == "sqlite" else _POSTGRESQL:
        connection.execute(text(statement))


def drop_additions(connection: Connection) -> None:
    """Remove the table and what fills it; the index goes with its table."""
    if connection.dialect.name == "sqlite":
        for trigger in ("session_agent_added", "session_agent_changed"):
            connection.execute(text(f"DROP TRIGGER IF EXISTS {trigger}"))
    else:
        connection.execute(text("DROP FUNCTION IF EXISTS change_session_agents() CASCADE"))
        connection.execute(text("DROP FUNCTION IF EXISTS add_session_agents(bigint, text)"))
    connection.execute(text("DROP TABLE IF EXISTS session_agent"))

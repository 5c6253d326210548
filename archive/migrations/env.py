"""What Alembic runs a migration in: the connection, and the transaction, of whoever asked for it."""

from __future__ import annotations

from alembic import context

from symposia.archive.tables import METADATA

# Alembic runs this file with a config; to import it does nothing.
if (config := getattr(context, "config", None)) is not None:
    context.configure(
        connection=config.attributes["connection"],
        target_metadata=METADATA,
        transactional_ddl=True,
        render_as_batch=True,
    )
    with context.begin_transaction():
        context.run_migrations()

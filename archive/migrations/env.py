"""Environment of Alembic's migrations, with the connection and the transaction of the caller.

Alembic runs this file by its path, so it imports nothing of the package.
"""

from __future__ import annotations

from alembic import context

# Alembic runs this file with a config; a plain import does nothing.
if (config := getattr(context, "config", None)) is not None:
    context.configure(connection=config.attributes["connection"], transactional_ddl=True)
    with context.begin_transaction():
        context.run_migrations()

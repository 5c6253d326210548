"""Alembic revisions of the archive, shipped with the package. `upgrade` migrates a database to the newest."""

"""Alembic's revisions of the archive, shipped with the package. `upgrade` brings a database to the newest."""

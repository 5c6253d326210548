"""An archive on each database, and a real server."""

from checks.audited import client
from servers.databases import archive, database_url, postgres, postgres_url

__all__ = ["archive", "client", "database_url", "postgres", "postgres_url"]

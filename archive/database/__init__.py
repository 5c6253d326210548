"""The connection to the database of the archive."""

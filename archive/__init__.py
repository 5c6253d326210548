"""The archive in SQL: the database, and the sessions in it. Reviews and workspaces have their tables there, too."""

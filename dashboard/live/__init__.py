"""Live data of the dashboard: the sessions in memory, and the reader of their changes."""

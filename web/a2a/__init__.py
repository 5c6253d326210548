"""Session files as agents of the Agent2Agent protocol (A2A)."""

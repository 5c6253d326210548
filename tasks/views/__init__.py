"""The state of a session as planners and agents see it."""

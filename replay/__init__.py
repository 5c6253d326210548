"""Replay of a recorded session: planners and agents run again, and their calls are answered from the record."""

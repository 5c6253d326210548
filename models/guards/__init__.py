"""Guards: checks before and after a turn, as values and pure functions."""

"""One turn: admission, the active turn, results, ends."""

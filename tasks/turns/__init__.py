"""The parts of one turn: admission, commit, failure."""

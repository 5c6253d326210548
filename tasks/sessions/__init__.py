"""Sessions as a whole: opening, steering, sweep, restoring, pruning, rendering."""

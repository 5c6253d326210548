"""Sessions as a whole: opening, steering, sweep, restoring, rendering."""

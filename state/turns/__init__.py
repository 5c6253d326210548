"""Data of one turn in Redis: journal, notes, live text, parked turns."""

"""Sessions as programs use them, live and archived, and session files."""

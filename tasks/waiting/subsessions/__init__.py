"""Sub-sessions: opening, answers to their parents, and changes passed down to them."""

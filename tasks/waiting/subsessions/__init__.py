"""Sub-sessions: opening, answers to their parents, and what reaches down to them."""

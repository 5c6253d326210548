"""Dialog memory: what a user has said in a room, so that a follow-up need not repeat it. Pure."""

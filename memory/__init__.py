"""Dialog memory: what users stated in a room, merged, shared and stored in Redis, so that a follow-up need not repeat it."""

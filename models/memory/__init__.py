"""Dialog memory: parameters that a user stated in a room, so that a follow-up need not repeat them. Pure."""

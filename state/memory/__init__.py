"""Dialog memory in Redis."""

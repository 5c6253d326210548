"""Live sessions in Redis."""

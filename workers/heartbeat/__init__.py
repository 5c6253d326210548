"""Heartbeat of worker processes, from a small process beside them that neither a busy nor a frozen worker can delay."""

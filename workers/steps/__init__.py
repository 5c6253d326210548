"""The background work of a worker process."""

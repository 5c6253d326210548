"""Services of a worker process for its turns."""

"""Sessions that run in this process: without Celery, workers or a Redis of the user."""

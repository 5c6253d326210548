"""Multi-agent collaboration sessions on Celery workers."""

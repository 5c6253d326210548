"""What may be chosen from outside: the settings, and what Celery is told."""

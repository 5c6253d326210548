"""Sessions in one process, without Celery: for scripts, notebooks and tests of whole sessions."""

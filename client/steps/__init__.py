"""A session as a step of a Celery canvas: `symposia.session.s(...)`."""

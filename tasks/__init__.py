"""Work of the workers on sessions: Celery tasks, turns, planning, questions, the sweep."""

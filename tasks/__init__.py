"""Work of the workers on sessions: Celery tasks, turns, planners, the sweep, workspaces."""

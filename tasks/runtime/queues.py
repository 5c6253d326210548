"""Names of the queues of an installation."""

from __future__ import annotations

from celery import Celery


def queue_name(app: Celery) -> str:
    """Return the name of the common queue: the setting `queue`, whatever the default queue of the app is."""
    name: str = app.symposia_settings.queue  # type: ignore[attr-defined]
    return name

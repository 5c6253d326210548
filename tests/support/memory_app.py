"""The Celery app of a worker that logs all it does with dialog memories."""

from __future__ import annotations

import logging

from symposia.workers.app import app

__all__ = ["app"]

logging.getLogger("symposia.state.memory").setLevel(logging.DEBUG)

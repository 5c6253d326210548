"""The Celery app of a worker that logs all it does with dialog memories."""

from __future__ import annotations

import logging
import os

from symposia.client.building import memory
from symposia.memory import turn_recollections
from symposia.workers.app import app

__all__ = ["app"]

memory._MEMORY_TIMEOUT_S = float(os.environ["MEMORY_PATIENCE_S"])
turn_recollections.AWAY_S = 0.5
logging.getLogger("symposia.state.memory.rooms").setLevel(logging.DEBUG)

"""Entry point of `python -m symposia.workers worker` and `beat`; see `program.py`."""

from __future__ import annotations

import sys
from typing import TYPE_CHECKING

from .program import run

if TYPE_CHECKING:
    from celery import Celery


def find_app() -> Celery:
    """Return the Celery app; this reads the settings."""
    from .app import app

    return app


if __name__ == "__main__":
    # A worker that restarts itself (SIGHUP) runs `python` with these arguments.
    sys.argv[:1] = ["-m", "symposia.workers"]
    run(find_app, sys.argv[2:])

"""Processes of Symposia: Celery app, bootsteps of workers, beat, callbacks, local services.

`celery -A symposia.workers worker` finds the app here. It is created on first access, so that importing a
part of this package does not read the settings.
"""

from __future__ import annotations

from typing import TYPE_CHECKING

if TYPE_CHECKING:
    from celery import Celery

    celery: Celery


def __getattr__(name: str) -> Celery:
    # Celery's command line looks for `app`, then `celery`; `app` is the submodule once it is imported.
    if name in ("app", "celery"):
        import sys
        from pathlib import Path

        from ..models.errors import SymposiaError

        try:
            from .app import app
        except SymposiaError as error:
            if Path(sys.argv[0]).name == "celery":  # which would print a traceback
                raise SystemExit(f"symposia: {error}") from None
            raise
        return app
    raise AttributeError(f"module {__name__!r} has no attribute {name!r}")

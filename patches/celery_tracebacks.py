"""No copy of the traceback of a Celery task that ends with `Ignore`.

Celery copies the traceback of every exception of a task, frame by frame with the positions of each instruction, and
formats it. For `Ignore` it does both twice, and nothing shows the result. Every parked turn ends with `Ignore`, and
this took two fifths of its time. Upstream: the design of Celery 5.7.0, no issue. Remove this module when
`test_celery_copies_the_traceback_of_ignored_tasks` fails.
"""

from __future__ import annotations

import sys
from typing import Any

from billiard import einfo
from celery.app import trace
from celery.exceptions import Ignore


class IgnoreInfo(einfo.ExceptionInfo):
    """Celery's description of the exception of a task, without a traceback for `Ignore`."""

    def __init__(self, exc_info: Any = None, internal: bool = False) -> None:
        error_info: Any = exc_info or sys.exc_info()
        kind, exception, _ = error_info
        if not isinstance(exception, Ignore):
            super().__init__(error_info, internal)
            return
        wrapped = einfo.ExceptionWithTraceback(exception, "")  # type: ignore[attr-defined]
        # Its annotations make these attributes read-only.
        self.__dict__.update(type=kind, exception=wrapped, tb=None, traceback="", internal=internal)


def omit_ignored_tracebacks() -> None:
    """Let the Celery tasks of this process omit the tracebacks of `Ignore`."""
    trace.ExceptionInfo = IgnoreInfo  # type: ignore[attr-defined]

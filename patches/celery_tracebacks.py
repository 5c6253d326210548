"""Tracebacks of Celery tasks of sessions: none for `Ignore`, and that of the agent for `TurnFailed`.

Celery copies the traceback of every exception of a task, frame by frame with the positions of each instruction, and
formats it. For `Ignore` it does both twice, and nothing shows the result. Every parked turn ends with `Ignore`, and
this took two fifths of its time. Upstream: the design of Celery 5.7.0, no issue. Remove this module when
`test_celery_copies_the_traceback_of_ignored_tasks` fails.

Monitors get the traceback of an exception with the source lines of all its causes, which may contain secrets. Those of
`TurnFailed` have been redacted before. Celery logs an exception in one line only if it is in `Task.throws`, but then
Sentry and other error trackers ignore it. Sentry replaces `build_tracer` when it starts, which has no effect in a worker
that has imported Celery's consumer before. Upstream: the design of Celery 5.7.0, no issue.
"""

from __future__ import annotations

import sys
from typing import Any

from billiard import einfo
from celery.app import trace
from celery.exceptions import Ignore

from ..models.errors import TurnFailed


class SessionTaskInfo(einfo.ExceptionInfo):
    """Celery's description of the exception of a task, with the traceback that monitors may show."""

    def __init__(self, exc_info: Any = None, internal: bool = False) -> None:
        error_info: Any = exc_info or sys.exc_info()
        kind, exception, _ = error_info
        if not isinstance(exception, Ignore | TurnFailed):
            super().__init__(error_info, internal)
            return
        text = _shown_traceback(exception) if isinstance(exception, TurnFailed) else ""
        wrapped = einfo.ExceptionWithTraceback(exception, text)  # type: ignore[attr-defined]
        # Its annotations make these attributes read-only.
        self.__dict__.update(type=kind, exception=wrapped, tb=None, traceback=text, internal=internal)


def _shown_traceback(failure: TurnFailed) -> str:
    line = f"{type(failure).__module__}.{type(failure).__qualname__}: {failure}\n"
    return f"{failure.agent_traceback}\n\n{line}" if failure.agent_traceback else line


_celery_log_policy = trace.get_log_policy  # type: ignore[attr-defined]


def _log_policy(task: Any, info: Any, exception: BaseException) -> Any:
    """Return how Celery logs an exception: `TurnFailed` in one line, because the attempts of the turn are logged."""
    if isinstance(exception, TurnFailed):
        return trace.log_policy_expected  # type: ignore[attr-defined]
    return _celery_log_policy(task, info, exception)


def omit_ignored_tracebacks() -> None:
    """Let the Celery tasks of this process omit the tracebacks of `Ignore`, and show those of agents."""
    from celery.worker.consumer import consumer

    trace.get_log_policy = _log_policy  # type: ignore[attr-defined]
    trace.ExceptionInfo = SessionTaskInfo  # type: ignore[attr-defined]
    consumer.build_tracer = _build_tracer


def _build_tracer(*args: Any, **options: Any) -> Any:
    return trace.build_tracer(*args, **options)

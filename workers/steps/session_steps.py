"""Sessions as steps of Celery canvases: the sweep of their messages, and the control command `revoke`."""

from __future__ import annotations

import logging
import threading
from collections.abc import Iterable
from functools import wraps
from typing import Any

from celery import Celery, bootsteps
from celery.utils.functional import maybe_list
from celery.worker.control import Panel

from ...client.steps.once import guard_tasks
from ...client.steps.service import steps_of
from .background_loops import LoopStep

log = logging.getLogger(__name__)

_REVOKE = "revoke"


class SessionStepsStep(LoopStep):
    """Bootstep that sends the messages of steps that were lost, and those of ended sessions."""

    what = "sweeping the steps"

    def sweep(self, app: Celery) -> object:
        """Send what is due."""
        return steps_of(app).sweep()


class OnceStep(bootsteps.Step):
    """Bootstep that makes tasks drop repeated messages of steps, before the pool and the consumer use them."""

    def __init__(self, worker: Any, **_options: Any) -> None:
        app: Celery = worker.app
        guard_tasks(app, lambda: steps_of(app).runs)


def install_revoke() -> None:
    """Make the control command `revoke` cancel the sessions of waiting steps, which no worker runs."""
    own = Panel.data[_REVOKE]
    if hasattr(own, "__wrapped__"):
        return

    @wraps(own)
    def revoke(state: Any, task_id: Any, *args: Any, **options: Any) -> Any:
        try:
            return own(state, task_id, *args, **options)
        finally:  # with `terminate` it raises if a task is active and its pool cannot terminate it
            _cancel_steps(state.app, task_id)

    # Called by `patches/control_messages.py` if the pool cannot terminate tasks.
    revoke.cancel = _cancel_steps  # type: ignore[attr-defined]
    Panel.data[_REVOKE] = revoke


def _cancel_steps(app: Celery, task_ids: object) -> None:
    """Cancel the sessions of the steps among Celery tasks, not in this thread: it is the event loop of the worker."""
    ids = [one for one in maybe_list(task_ids) or () if isinstance(one, str)]
    threading.Thread(target=_cancel, args=(app, ids), name="symposia-revoke", daemon=True).start()


def _cancel(app: Celery, task_ids: Iterable[str]) -> None:
    for task_id in task_ids:
        try:
            steps_of(app).revoke(task_id)
        except Exception as error:  # noqa: BLE001 - other workers got the command, too
            log.warning("cancelling the session of revoked step %s failed: %s", task_id, error)

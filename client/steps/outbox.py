"""Messages of steps and of ended sessions: what is sent at the end of a session, and what a sweep sends again.

A sweep sends the message of a step again after a pause that doubles each time. A message that may still wait in the
common queue is not sent again, as in the sweep of sessions (`tasks/sessions/sweep.py`).
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Mapping
from functools import cached_property
from typing import TYPE_CHECKING, Any

from kombu.utils.json import loads

from ...config.settings import Settings
from ...jobs.collab import CollabJob
from ...models.errors import RedisUnavailable, SessionNotFound, SymposiaError
from ...state.sessions.index import SENT_MS, QueueProgress
from ...state.steps import StepRecord, StepStore, end_check_ms
from ...tasks.runtime.graph import broker_error
from ...tasks.runtime.queues import queue_name
from ..building.installed import is_installed
from ..building.sessions import Sessions
from .documents import STEP
from .on_end import OnEndSender

if TYPE_CHECKING:
    from celery import Celery

log = logging.getLogger(__name__)

#: Maximum number of steps per claim.
_BATCH = 100
#: Milliseconds per step until held messages are checked again, so that a long queue does not keep the sweep busy.
_PAUSE_MS = 5
#: Maximum doublings of the pause between two copies of a message.
_MAX_DOUBLINGS = 6


def find_job(sessions: Sessions, session_id: str) -> CollabJob | None:
    """Return a session; None: there is none, or it has expired."""
    try:
        return sessions.get(session_id)
    except SessionNotFound:
        return None


def cancel_job(job: CollabJob | None) -> None:
    """Cancel the session of a revoked step, unless it has ended."""
    if job is None or job.state().is_final:
        return
    try:
        job.cancel("the Celery task was revoked")
    except SymposiaError:
        if not job.state().is_final:
            raise


class CommonQueue:
    """The common queue, as one sweep sees it.

    Args:
        progress: The progress of the workers.
        grace_ms: Milliseconds after which a message counts as late.
        count: Returns the number of messages that may wait.
    """

    def __init__(self, progress: QueueProgress, *, grace_ms: int, count: Callable[[], int]) -> None:
        self._progress = progress
        self._grace_ms = grace_ms
        self._count = count
        self._wait_ms = 0

    @cached_property
    def _taken_until_ms(self) -> float:
        """Workers have taken all messages that were sent until then; two concurrent ones may change places."""
        return self._progress.publish() - min(self._grace_ms / 4, 2_000)

    def wait_ms(self, sent_ms: int) -> int:
        """Return 0 if a message may be sent again, otherwise the milliseconds until its next check.

        `sent_ms`: time at which it was sent, by the server's clock.
        """
        if sent_ms <= self._taken_until_ms:
            return 0
        if self._wait_ms:
            return self._wait_ms
        refused_ms = self._progress.probe(grace_ms=self._grace_ms)
        self._wait_ms = max(refused_ms or self._grace_ms // 10, self._count() * _PAUSE_MS)
        return self._wait_ms if refused_ms else 0


class Outbox:
    """Sender of the messages of one app; `fault_hook` as in `Steps`."""

    def __init__(
        self,
        app: Celery,
        settings: Settings,
        store: StepStore,
        sessions: Sessions,
        *,
        fault_hook: Callable[[str], object],
    ) -> None:
        self._app = app
        self._settings = settings
        self._store = store
        self._sessions = sessions
        self._fault_hook = fault_hook
        self._on_end = OnEndSender(app, settings, store, fault_hook)
        self._grace_ms = int(settings.redispatch_after_s * 1000)

    def is_in_order(self, args: Any, kwargs: Mapping[str, Any], options: Mapping[str, Any]) -> bool:
        """Return whether workers take the message of a step in the order of the common queue."""
        task: Any = self._app.tasks[STEP]
        router: Any = self._app.amqp.router
        try:
            route = router.route(dict(options), STEP, tuple(args or ()), dict(kwargs or {}), task_type=task)
        except Exception:  # noqa: BLE001 - a function of the app; Celery calls it again and reports its error
            return False
        if task.priority is not None or route.get("priority") is not None:
            return False
        common = queue_name(self._app) if is_installed(self._app) else self._settings.queue
        return bool(getattr(route["queue"], "name", route["queue"]) == common)

    def send(self, session_id: str) -> None:
        """Send the message of an ended session; if that fails, the sweep sends it."""
        # In a while, if this process is lost; at once, and a sweep would send a copy.
        self._store.index.set_due(session_id, self._grace_ms)
        self._fault_hook("before-message")
        try:
            self._check(session_id, None)
        except (SymposiaError, broker_error()) as error:
            log.warning("message of ended session %s not sent, will retry: %s", session_id, error)
        except Exception:  # what Celery refuses in a signature must not hold up the end of the session
            log.exception("message of ended session %s not sent, will retry", session_id)

    def sweep(self) -> int:
        """Send the messages that are due; return the number of checked steps.

        Raises:
            RedisUnavailable, OperationalError: The others are claimed again after the grace time.
        """
        claimed = self._store.index.claim(limit=_BATCH, hold_ms=self._grace_ms)
        queue = CommonQueue(self._store.progress, grace_ms=self._grace_ms, count=self._store.index.count)
        for session_id in claimed:
            try:
                self._check(session_id, queue)
            except (RedisUnavailable, broker_error()):
                raise
            except Exception:  # one step must not block the others
                log.exception("sending the message of session %s failed, will retry", session_id)
        return len(claimed)

    def _check(self, session_id: str, queue: CommonQueue | None) -> None:
        """Send what is to be sent for a session. `queue`: None for the end of the session, whose message is new."""
        record = self._store.read(session_id)
        job = find_job(self._sessions, session_id)
        if record is None:
            self._send_on_end(session_id, job)
        elif record.stage == "done":
            self._store.index.remove(session_id)
        elif record.is_open and job is not None and not job.state().is_final:
            self._check_later(session_id)
            if record.is_revoked:  # and the worker that cancels its session was lost
                cancel_job(job)
        else:
            is_new = queue is None or _is_before_end(record, job)
            self._send_step(session_id, record, None if is_new else queue)

    def _send_step(self, session_id: str, record: StepRecord, queue: CommonQueue | None) -> None:
        if not record.call:
            self._store.index.remove(session_id)
            return
        call = loads(record.call)
        options = dict(call["options"])
        in_order = self.is_in_order(call["args"], call["kwargs"], options)
        if queue is not None and in_order and (wait_ms := queue.wait_ms(record.sent_ms)):
            self._store.index.set_due(session_id, wait_ms)
            return
        # First: a crash after these lines delays the next copy of the message, which a run after `done` ignores.
        if (counted := self._store.count_message(session_id, is_new=queue is None)) is None:
            return
        sends, sent_ms = counted
        pause_ms = self._grace_ms * 2 ** min(sends - 1, _MAX_DOUBLINGS)
        self._store.index.set_due(session_id, pause_ms)
        if record.is_open:  # it has started in time
            options.pop("expires", None)
        if in_order:
            options["headers"] = {**(options.get("headers") or {}), SENT_MS: sent_ms}
        task: Any = self._app.tasks[STEP]
        task.send_again(tuple(call["args"]), call["kwargs"], options)
        self._fault_hook("after-message")

    def _send_on_end(self, session_id: str, job: CollabJob | None) -> None:
        """Send what was given to `submit`."""
        on_end = None if job is None else job.spec.on_end
        if job is None or on_end is None or on_end.task is not None:
            self._store.index.remove(session_id)  # it has expired, or was never opened
        elif not job.state().is_final:
            self._check_later(session_id)
        else:
            self._on_end.send(job, on_end)

    def _check_later(self, session_id: str) -> None:
        self._store.index.set_due(session_id, end_check_ms(self._grace_ms))

    def finish(self, session_id: str) -> None:
        """Record that nothing is left to send."""
        self._on_end.end(session_id)


def _is_before_end(record: StepRecord, job: CollabJob | None) -> bool:
    """Return whether the last message of a step was sent before its session had ended."""
    ended_ms = None if job is None else job.state().ended_ms
    return record.is_open and ended_ms is not None and record.sent_ms < ended_ms

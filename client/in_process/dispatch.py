"""Dispatch of turns to threads of this process, in the place of Celery's queue."""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterable, Sequence
from concurrent.futures import ThreadPoolExecutor
from contextlib import suppress
from functools import partial
from typing import TYPE_CHECKING

from ...models.errors import SessionNotFound, StateError
from ...models.sessions.priority import COMMON_SHARE, QueueShare
from ...models.text.ids import new_id
from ...state.log_context import log_context
from ...state.sessions.turn_records import TaskInfo
from ...tasks.planning.advance import advance
from ...tasks.run_turn import handle_turn_message
from ...tasks.runtime.graph import FirstStep, TaskGraph, TurnCall

if TYPE_CHECKING:
    from celery import Celery

    from ...tasks.runtime.runtime import Runtime

log = logging.getLogger(__name__)


def _no_app() -> Celery:
    raise RuntimeError("turns run in this process, without Celery")


#: Maximum number of turns that a thread runs after the one that it took, and seconds in which it takes further ones: as in a
#: worker (`patches/kept_tasks.py`, which imports Celery).
KEPT_TURNS = 16
KEPT_S = 0.2


class _Thread(threading.local):
    #: The turn that this thread runs next.
    next: Callable[[Runtime], object] | None = None
    #: How many more turns it may keep, and until when, by `time.monotonic()`.
    left = 0
    until = 0.0


class ThreadDispatch(TaskGraph):
    """Dispatch of turns and plans to a pool of threads, in the order in which they are sent.

    As with Celery, what is sent is only a hint: the scripts in Redis decide which turns run. `bind` gives it the function
    that returns the runtime that runs them.

    Args:
        threads: Maximum number of turns that run side by side.
    """

    def __init__(self, *, threads: int) -> None:
        super().__init__(_no_app)
        self._pool = ThreadPoolExecutor(threads, thread_name_prefix="symposia-turn")
        self._thread = _Thread()
        self._find_runtime: Callable[[], Runtime] | None = None

    def bind(self, find_runtime: Callable[[], Runtime]) -> None:
        """Set the function that returns the runtime for the work that begins now."""
        self._find_runtime = find_runtime

    def close(self) -> None:
        """Drop what has not begun, and wait for the turns that run; cancel their agents first."""
        self._pool.shutdown(cancel_futures=True)

    def check(self) -> None:
        """Do nothing: there is no broker."""

    def send_turns(self, calls: Sequence[TurnCall], *, parent: str, sent_ms: int) -> None:
        """Send turns that may run in parallel."""
        for call in calls:
            self._submit(call.session, partial(self._run_turn, call, parent), sent_ms)

    def may_keep_next(self) -> bool:
        """Return whether this thread can run the next turn, so that others do not wait long for it."""
        return self._thread.left > 0 and time.monotonic() < self._thread.until

    def keep_next(self, call: TurnCall, *, task_id: str, parent: str, sent_ms: int) -> None:  # noqa: ARG002 - not sent
        """Run a turn in this thread after the current one."""
        self._thread.next = partial(self._run_turn, call, parent, task_id=task_id)
        self._thread.left -= 1

    def send_first_steps(self, steps: Iterable[FirstStep]) -> None:
        """Send the planning of the first steps of sessions."""
        for step in steps:
            self.send_advance(step.session, sent_ms=step.sent_ms, first=True)

    def send_advance(
        self,
        session_id: str,
        *,
        sent_ms: int,
        first: bool = False,
        share: QueueShare = COMMON_SHARE,  # noqa: ARG002 - there are no queues
    ) -> None:
        """Send the planning of the next step."""
        task_id = session_id if first else new_id()
        self._submit(session_id, partial(self._advance, session_id, task_id), sent_ms)

    def report(self, parked_by: TaskInfo, event: str, **fields: str) -> None:
        """Do nothing: no monitor watches this process."""

    def _submit(self, session_id: str, action: Callable[[Runtime], object], sent_ms: int) -> None:
        with suppress(RuntimeError):  # the pool is closed, and so are its sessions
            self._pool.submit(self._attempt, session_id, action, sent_ms)

    def _attempt(self, session_id: str, action: Callable[[Runtime], object], sent_ms: int) -> None:
        thread = self._thread
        thread.left, thread.until = KEPT_TURNS, time.monotonic() + KEPT_S
        self._run(session_id, action, sent_ms)
        while (following := thread.next) is not None:
            thread.next = None
            self._run(session_id, following)

    def _run(self, session_id: str, action: Callable[[Runtime], object], sent_ms: int = 0) -> None:
        if self._find_runtime is None:
            raise RuntimeError("`bind` was not called")
        try:
            runtime = self._find_runtime()
            if sent_ms:
                runtime.stores.queue_progress.record_taken(sent_ms)
            action(runtime)
        except SessionNotFound:
            log.debug("session %s has ended and expired", session_id)
        except StateError as error:
            log.warning("session %s: %s; the sweep will retry", session_id, error)
        except Exception:
            log.exception("session %s failed, the sweep will retry", session_id)

    @staticmethod
    def _run_turn(call: TurnCall, parent: str, runtime: Runtime, *, task_id: str = "") -> None:
        with log_context(call.session, call.turn, call.participant):
            handle_turn_message(runtime, call, TaskInfo(task_id or new_id(), parent=parent))

    @staticmethod
    def _advance(session_id: str, task_id: str, runtime: Runtime) -> None:
        with log_context(session_id):
            advance(runtime, session_id, parent=task_id)

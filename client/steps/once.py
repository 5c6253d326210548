"""Messages that follow a session run once, although a killed worker's successor sends them again.

A message has a header that names this copy of it. The copy that a worker starts is recorded in Redis. While that run
lasts, another copy waits; after it, other copies are dropped. If the run's worker is lost, another copy may start,
unless the result backend has the result of that run. What Celery sends after such a run has the same ids in each run, and
such a header, too.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from contextvars import ContextVar
from functools import wraps
from typing import Any

from celery import Celery, Signature, Task, signature, states
from celery._state import get_current_task
from celery.backends.base import DisabledBackend
from celery.exceptions import Ignore
from celery.signals import before_task_publish, task_postrun
from celery.utils.functional import maybe_list

from ...models.errors import StateError
from ...models.text.ids import derived_id, new_id
from ...state.once import OnceStore
from .documents import STEP

log = logging.getLogger(__name__)

#: Header of a message: the id of this copy.
ONCE = "symposia_once"
_is_marking: ContextVar[bool] = ContextVar("symposia_marks_messages", default=False)
_GUARDED = "symposia_guarded"
#: Tasks of these names need no guard: repetitions have no effect.
_OWN = ("symposia.", "celery.")


@contextmanager
def marked() -> Iterator[None]:
    """Mark the messages that this thread sends in the block."""
    token = _is_marking.set(True)
    try:
        yield
    finally:
        _is_marking.reset(token)


@before_task_publish.connect
def _mark(sender: Any = None, headers: Any = None, **_fields: Any) -> None:
    """Mark what a step causes, and what follows a marked task: Celery sends it while that task is the current one."""
    if not isinstance(headers, dict) or ONCE in headers or str(sender).startswith(_OWN):
        return
    task: Any = get_current_task()
    if _is_marking.get() or getattr(task, "name", None) == STEP or _follows(task, headers.get("id")):
        headers[ONCE] = new_id()


def _follows(task: Any, message_id: object) -> bool:
    """Return whether Celery sends a message after a marked task: its retry, the next step, a link, a chord's body."""
    request = None if task is None else task.request
    if request is None or not request.get(ONCE):
        return False
    following = (request.callbacks, request.errbacks, request.chain, request.chord)
    return message_id == request.id or message_id in tuple(_ids(following))


def _ids(signatures: Any) -> Iterator[str]:
    """Yield the ids of tasks from their signatures as JSON data, also those within canvases."""
    if isinstance(signatures, Mapping):
        options, inner = signatures.get("options"), signatures.get("kwargs")
        if isinstance(options, Mapping) and (task_id := options.get("task_id")):
            yield task_id
        if signatures.get("subtask_type") and isinstance(inner, Mapping):
            yield from _ids([inner.get(name) for name in ("tasks", "header", "body")])
    elif isinstance(signatures, list | tuple):
        for one in signatures:
            yield from _ids(one)


def with_id(given: Any, app: Celery, task_id: str = "") -> Signature[Any]:
    """Return a copy of the signature of a task with an id, which is the same in each message sent for it.

    `task_id`: the id if the signature has none; '': a new one.
    """
    task = signature(given, app=app).clone()
    if not task.subtask_type and "task_id" not in task.options:
        task.set(task_id=task_id or new_id())
    return task


def _name_links(task: Task[..., Any]) -> None:
    """Give the links of a marked task ids that are the same in each of its runs."""
    request: Any = task.request
    for name in ("callbacks", "errbacks"):
        links = maybe_list(getattr(request, name)) or ()
        named = [
            with_id(link, task.app, derived_id(f"{name} {index} of {request.id}"))
            for index, link in enumerate(links)
        ]
        if named:
            setattr(request, name, named)


class Runs:
    """Running tasks of this process whose messages may be sent again; their leases are renewed."""

    def __init__(self, store: OnceStore, *, lease_s: float) -> None:
        self._store = store
        self._lease_s = lease_s
        self._copies: dict[str, str] = {}
        self._lock = threading.Lock()
        self._has_thread = False

    def start(self, task: Task[..., Any]) -> None:
        """Note the run of a task that begins.

        Raises:
            Ignore: Another copy of its message has run; or it runs, and this copy is sent again with a delay.
            Exception: Another copy has failed with it, and its worker was lost then.
        """
        request: Any = task.request
        message, copy = _message_of(task), str(request.get(ONCE))
        try:
            answer = self._store.start(message, copy, lease_ms=self._lease_ms)
        except StateError as error:
            log.warning("task %s may be a repetition, and runs: %s", message, error)
            return
        if answer == "running":  # its worker may be lost
            later = task.signature_from_request(request, countdown=self._lease_s)
            later.apply_async(headers={ONCE: copy}, add_to_parent=False)
        if answer != "start":
            raise Ignore(f"another copy of this message: {answer}")
        _name_links(task)
        with self._lock:
            self._copies[message] = copy
            if not self._has_thread:
                self._has_thread = True
                threading.Thread(target=self._renew, name="symposia-once", daemon=True).start()
        _report_stored(task)

    def finish(self, task: Task[..., Any]) -> None:
        """Note the end of a run, if it was noted at its start."""
        message, copy = _message_of(task), str(task.request.get(ONCE))
        with self._lock:
            if self._copies.get(message) != copy:
                return
            del self._copies[message]
        try:
            self._store.finish(message, copy)
        except StateError as error:
            log.warning("end of task %s not recorded, it may be repeated: %s", message, error)

    @property
    def _lease_ms(self) -> int:
        return int(self._lease_s * 1000)

    def _renew(self) -> None:
        while True:
            time.sleep(self._lease_s / 3)
            with self._lock:
                messages = [*self._copies]
                self._has_thread = bool(messages)
            if not messages:
                return
            try:
                self._store.renew(messages, lease_ms=self._lease_ms)
            except StateError as error:
                log.warning("leases of tasks not renewed, will retry: %s", error)


def _message_of(task: Task[..., Any]) -> str:
    """Return the id of a message; that of a retry differs, and that of a task that replaces another one."""
    request: Any = task.request
    nesting = request.get("replaced_task_nesting") or 0
    return f"{request.id}:{request.retries}" + (f":{nesting}" if nesting else "")


def _report_stored(task: Task[..., Any]) -> None:
    """Repeat the end of a run whose worker was lost after it had stored the result.

    A part of a chord runs again: it may not be counted yet.

    Raises:
        Ignore: The task has succeeded.
        Exception: The task has failed with it; Celery sends the error links.
    """
    request: Any = task.request
    backend: Any = task.backend
    if request.chord or isinstance(backend, DisabledBackend) or not backend.persistent:
        return
    try:
        stored = backend.get_task_meta(request.id)
    except Exception as error:  # noqa: BLE001 - each backend has its own errors
        log.warning("result of task %s cannot be read, it may be repeated: %s", request.id, error)
        return
    if stored["status"] == states.SUCCESS:
        try:
            send_following(task, stored["result"])
        except Exception as error:  # noqa: BLE001 - the task has succeeded, and must not fail for what follows it
            log.error("what follows task %s may be lost with its worker: %s", request.id, error)
        raise Ignore("another copy of this message: its result is stored")
    if stored["status"] == states.FAILURE and isinstance(stored["result"], Exception):
        raise stored["result"]


def send_following(task: Task[..., Any], result: object) -> None:
    """Send what follows a task that has succeeded, as Celery would after its run, which then sends nothing.

    Raises:
        OperationalError: The broker does not answer. Celery would fail the task.
    """
    request: Any = task.request
    origin = {"parent_id": request.id, "root_id": request.root_id or request.id}
    if task.app.conf.task_inherit_parent_priority:
        origin["priority"] = request.delivery_info.get("priority")
    for link in request.callbacks or ():
        signature(link, app=task.app).apply_async((result,), **origin)
    if request.chain:
        following = signature(request.chain[-1], app=task.app)
        following.apply_async((result,), chain=request.chain[:-1], **origin)
    request.callbacks = request.chain = None


def guard_tasks(app: Celery, find_runs: Callable[[], Runs]) -> None:
    """Make the tasks of an app drop other copies of marked messages; called before Celery traces them."""
    for name, task in app.tasks.items():
        if not name.startswith(_OWN) and not getattr(type(task), _GUARDED, False):
            _guard(type(task), find_runs)

    def finish(task: Task[..., Any], **_fields: Any) -> None:
        if task.request.get(ONCE):
            find_runs().finish(task)

    task_postrun.connect(finish, weak=False, dispatch_uid="symposia.once")


def _guard(kind: type[Task[..., Any]], find_runs: Callable[[], Runs]) -> None:
    own = kind.before_start

    @wraps(own)
    def before_start(self: Task[..., Any], task_id: str, args: Any, kwargs: Any) -> Any:
        if self.request.get(ONCE):
            find_runs().start(self)
        return own(self, task_id, args, kwargs)

    kind.before_start = before_start  # type: ignore[method-assign]
    setattr(kind, _GUARDED, True)

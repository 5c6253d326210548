"""`symposia.session`: a Celery task whose result is that of a session.

    chain(prepare.s("the room"), symposia.session.s("panel.yaml", previous="topic"), report.s()).apply_async()

The first run opens the session and ends without a result (Celery's `Ignore`), so that the worker is free. When the
session has ended, the same message is sent again, with the same id. Its run returns the result, and Celery stores it
and sends what follows: the next step, links, the body of a chord. Each run finds out what is to be done, so a
message may arrive at any time and any number of times.
"""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING, Any

from celery import Task, shared_task, states
from celery.exceptions import Ignore
from celery.signals import task_revoked
from celery.utils.functional import maybe_list

from ...models.errors import ArchiveError, StateError, UnknownAgent
from ...tasks.runtime.graph import broker_error
from ..building.installed import is_installed, settings_for
from .documents import SESSION, STEP, task_arguments
from .once import send_following, with_id
from .results import RetriedBackend, is_stored
from .service import steps_of

if TYPE_CHECKING:
    from celery.app.task import Context
    from celery.result import AsyncResult

log = logging.getLogger(__name__)

#: Seconds until a step is tried again that could not reach Redis, or whose agents no worker knows.
_RETRY_S = 5
#: Number of retries of a step of which no worker knows an agent.
_UNKNOWN_RETRIES = 6


class SessionTask(Task):  # type: ignore[type-arg]
    """Task whose messages hold the document of a session instead of the name of its file."""

    abstract = True

    @property
    def backend(self) -> Any:
        """The result backend of the app."""
        return RetriedBackend(super().backend, self.request)

    @backend.setter
    def backend(self, value: Any) -> None:
        self._backend = value

    def signature(self, args: Any = None, kwargs: Any = None, *others: Any, **options: Any) -> Any:
        """Return a signature; the session file is read now."""
        args, kwargs = self._prepare(args, kwargs)
        return super().signature(args, kwargs, *others, **options)

    subtask = signature

    def apply_async(  # type: ignore[override]  # Celery passes options by name
        self, args: Any = None, kwargs: Any = None, task_id: str | None = None, **options: Any
    ) -> AsyncResult[Any]:
        """Send the step. It is stored first, because a worker may be lost with the message."""
        from celery.utils import uuid

        args, kwargs = self._prepare(args, kwargs)
        task_id = task_id or uuid()
        if self.app.conf.task_always_eager:
            return super().apply_async(args, kwargs, task_id=task_id, **options)
        for name in ("link", "link_error"):
            if options.get(name):
                options[name] = [with_id(one, self.app) for one in maybe_list(options[name])]
        queue = settings_for(self.app).queue
        if not is_installed(self.app):
            options.setdefault("queue", queue)
        options.setdefault("reply_to", self.app.thread_oid)  # for the backend `rpc://`
        with steps_of(self.app).sending(task_id, args, kwargs, options) as headers:
            options["headers"] = {**(options.get("headers") or {}), **headers}
            return super().apply_async(args, kwargs, task_id=task_id, **options)

    def send_again(self, args: Any, kwargs: Any, options: dict[str, Any]) -> None:
        """Send the message of a step again."""
        super().apply_async(args, kwargs, add_to_parent=False, **options)

    def apply(self, args: Any = None, kwargs: Any = None, *others: Any, **options: Any) -> Any:
        """Run the session in this process."""
        args, kwargs = self._prepare(args, kwargs)
        return super().apply(args, kwargs, *others, **options)

    def _prepare(self, args: Any, kwargs: Any) -> tuple[tuple[Any, ...], dict[str, Any]]:
        args, kwargs = tuple(args or ()), dict(kwargs or {})
        if SESSION in kwargs:
            return args, kwargs
        return (), task_arguments(args, kwargs, settings_for(self.app))

    def after_return(
        self,
        status: str,
        retval: Any,  # noqa: ARG002 - Celery gives these by position
        task_id: str,
        args: Any,  # noqa: ARG002
        kwargs: Any,  # noqa: ARG002
        einfo: Any,  # noqa: ARG002
    ) -> None:
        """Record the end. Celery has stored the result, and sent what follows."""
        if status in states.READY_STATES and not self.request.is_eager and is_stored(self.request):
            steps_of(self.app).finish(task_id)


@shared_task(
    name=STEP,
    bind=True,
    base=SessionTask,
    acks_late=True,
    serializer="json",
    track_started=False,  # a copy of the message must not replace the state
    max_retries=None,
    reject_on_worker_lost=True,
    ignore_result=False,
    typing=False,
    throws=(StateError,),
)
def session(
    self: SessionTask, *results: Any, session: Any, inputs: Any = None, previous: str | None = None
) -> Any:
    """Run a session, as a step: see the module.

    Returns:
        The result of the session as JSON data, in the run after its end.

    Raises:
        Ignore: The session has not ended, or another run has reported its end.
        SessionFailed: The session was not completed.
        InvalidInput: A value breaks a rule.
    """
    if self.request.is_eager or self.request.called_directly:
        return steps_of(self.app).run_here(results, session, inputs, previous)
    try:
        result = steps_of(self.app).run(self, results, session, inputs, previous)
    except (StateError, ArchiveError) as error:
        raise self.retry(exc=error, countdown=_RETRY_S) from None
    except UnknownAgent as error:  # all workers that know the agent may have just been lost
        raise self.retry(exc=error, countdown=_RETRY_S, max_retries=_UNKNOWN_RETRIES) from None
    if result is None:
        raise Ignore("waits for its session")
    try:
        send_following(self, result)
    except broker_error() as error:
        log.warning("what follows step %s is not sent, will retry: %s", self.request.id, error)
        raise Ignore("the sweep sends its message again") from None
    return result


@task_revoked.connect
def _end_revoked(sender: Any = None, request: Context | None = None, **_fields: Any) -> None:
    """Cancel the session of a step whose message was revoked, or has expired."""
    if getattr(sender, "name", None) == STEP and request is not None and request.id:
        try:
            steps_of(sender.app).end_revoked(request.id)
        except Exception as error:  # noqa: BLE001 - the sweep sends the message again, which is revoked again
            log.warning("step %s is revoked, its session could not be cancelled: %s", request.id, error)

"""Steps of Celery canvases in one process: their sessions, and the messages that are sent when these end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager, suppress
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from ...config.settings import Settings
from ...models.errors import MessageTooLarge, NoRedis, RedisUnavailable, SessionNotFound
from ...models.sessions.on_end import OnEnd
from ...models.text.ids import derived_id
from ...state.once import OnceStore
from ...state.sessions.index import SENT_MS
from ...state.steps import StepStore
from ..building.connection import connect_in_use
from ..building.installed import settings_for
from ..building.runtime import per_process
from ..building.sessions import Sessions
from .documents import call_text, read_step
from .on_end import result_data
from .once import Runs
from .outbox import Outbox, cancel_job, find_job

if TYPE_CHECKING:
    from celery import Celery, Task

log = logging.getLogger(__name__)

#: State of a step whose session has not ended; turns that wait for a sub-session have it, too.
AWAITING = "AWAITING_SESSION"
#: Maximum bytes of a step with its document: workers refuse larger messages.
MAX_CALL_BYTES = 900_000
_ATTRIBUTE = "symposia_steps"


def session_id_of(task_id: str) -> str:
    """Return the id of the session of a step."""
    return derived_id(f"symposia.session {task_id}")


class Steps:
    """The steps of an app. Connects lazily.

    `fault_hook`: called at each boundary between two phases of a step, with its name; in production it does nothing.
    """

    def __init__(
        self, app: Celery, settings: Settings, *, fault_hook: Callable[[str], object] = lambda _: None
    ) -> None:
        self._app = app
        self._settings = settings
        redis = connect_in_use(settings)
        self._store = StepStore(redis)
        #: Tasks of this process whose messages may be sent again.
        self.runs = Runs(OnceStore(redis), lease_s=settings.lease_s)
        self._sessions = Sessions(settings, lambda: app)
        self._fault_hook = fault_hook
        self._outbox = Outbox(app, settings, self._store, self._sessions, fault_hook=fault_hook)

    @property
    def _grace_ms(self) -> int:
        return int(self._settings.redispatch_after_s * 1000)

    @contextmanager
    def sending(
        self, task_id: str, args: Any, kwargs: Mapping[str, Any], options: Mapping[str, Any]
    ) -> Iterator[dict[str, int]]:
        """Store a step while its message is sent in the block; without Redis the message is all there is.

        Yields:
            Headers of the message.
        """
        session_id, is_new = session_id_of(task_id), False
        headers: dict[str, int] = {}
        is_in_order = self._outbox.is_in_order(args, kwargs, options)
        try:
            call = call_text(args, kwargs, {**options, "task_id": task_id})
            if (size := len(call.encode())) > MAX_CALL_BYTES:
                raise MessageTooLarge(size, limit_bytes=MAX_CALL_BYTES, field="step")
            delay_ms = int(1000 * (options.get("countdown") or 0)) or _ms_until(options.get("eta"))
            word, now_ms = self._store.register(
                session_id, call, stage="sent", check_in_ms=self._grace_ms + delay_ms
            )
            is_new = word == "registered"
            if is_in_order:
                headers[SENT_MS] = now_ms
        except (NoRedis, RedisUnavailable) as error:
            log.warning("step %s is sent, but not stored: %s", task_id, error)
        try:
            yield headers
        except BaseException:
            if is_new:
                with suppress(RedisUnavailable):  # the caller gets the first error
                    self._store.withdraw(session_id, check_in_ms=self._grace_ms)
            raise

    def run(
        self,
        task: Task[..., Any],
        results: tuple[Any, ...],
        document: object,
        inputs: object,
        previous: object,
    ) -> dict[str, Any] | None:
        """Do what is to be done for a step: open its session, or report its end.

        Returns:
            The result; None: the session has not ended, or another run reports its end.

        Raises:
            SessionFailed: The session was not completed.
            InvalidInput: A value breaks a rule; no session was opened.
            StateError: Redis does not answer.
        """
        task_id = str(task.request.id)
        session_id = session_id_of(task_id)
        self._fault_hook("before-submit")
        record = self._store.read(session_id)
        if record is not None and record.stage == "done":
            return None
        if record is None or not record.is_open:
            self._open(task, session_id, results, document, inputs, previous)
            if self._is_revoked(session_id):  # since the record was read
                self._cancel(session_id)
        job = find_job(self._sessions, session_id)
        if job is not None and not job.state().is_final:
            return None
        word = self._store.claim(session_id, lease_ms=int(self._settings.lease_s * 1000))
        if word != "granted":
            log.info("step %s: the end of its session is already reported (%s)", task_id, word)
            return None
        self._store.index.set_due(session_id, int(self._settings.lease_s * 1000))
        self._fault_hook("before-return")
        if self._is_revoked(session_id):
            self._report_revoked(task)
            return None
        if job is None:
            raise SessionNotFound(session_id)
        return result_data(job.result().raise_for_failure())

    def _open(
        self,
        task: Task[..., Any],
        session_id: str,
        results: tuple[Any, ...],
        document: object,
        inputs: object,
        previous: object,
    ) -> None:
        request: Any = task.request
        options = task.signature_from_request(request, request.args, request.kwargs)["options"]
        call = call_text(request.args, request.kwargs, options)
        self._store.register(session_id, call, stage="waiting", check_in_ms=self._grace_ms)
        submission = read_step(session_id, results, document, inputs, previous)
        submission = submission.model_copy(update={"on_end": OnEnd(task=request.id)})
        # Before the session is open: its end may set the final state at once.
        with _ignore_outage(request.id):
            task.update_state(state=AWAITING, meta={"collab_id": session_id})
        self._sessions.submit(submission)
        self._fault_hook("after-submit")
        self._store.mark_open(session_id)
        with _ignore_outage(request.id):
            task.send_event("task-awaiting_session", result=repr(f"waits for session {session_id}"))

    def _is_revoked(self, session_id: str) -> bool:
        record = self._store.read(session_id)
        return record is not None and record.is_revoked

    def _report_revoked(self, task: Task[..., Any]) -> None:
        task_id = str(task.request.id)
        try:
            task.backend.mark_as_revoked(task_id, "revoked", request=task.request, store_result=True)
        except Exception as error:  # noqa: BLE001 - each result backend has its own errors
            log.warning("state REVOKED of step %s not stored, will retry: %s", task_id, error)
            return
        self.finish(task_id)

    def finish(self, task_id: str) -> None:
        """Record that Celery has stored the result of a step, and sent what follows."""
        self._fault_hook("before-finish")
        self._outbox.finish(session_id_of(task_id))

    def revoke(self, task_id: str) -> None:
        """Cancel the session of a step, whose end sends the message; a worker answers it with the state REVOKED."""
        session_id = session_id_of(task_id)
        if self._store.mark_revoked(session_id):
            self._cancel(session_id)

    def end_revoked(self, task_id: str) -> None:
        """Cancel the session of a step for which Celery has stored the state REVOKED."""
        self._cancel(session_id_of(task_id))
        self.finish(task_id)

    def _cancel(self, session_id: str) -> None:
        cancel_job(find_job(self._sessions, session_id))

    def run_here(
        self, results: tuple[Any, ...], document: object, inputs: object, previous: object
    ) -> dict[str, Any]:
        """Run the session of a step in this process.

        Raises:
            SessionFailed: The session was not completed.
            InvalidInput: A value breaks a rule.
        """
        from ...models.text.ids import new_id
        from ..in_process.eager import eager_installation

        submission = read_step(new_id(), results, document, inputs, previous)
        job = eager_installation(self._app, self._settings).submit_unattended(submission)
        return result_data(job.result(allow_join=True).raise_for_failure())

    def send(self, session_id: str) -> None:
        """Send the message of an ended session; if that fails, the sweep sends it."""
        self._outbox.send(session_id)

    def sweep(self) -> int:
        """Send the messages that are due; return the number of checked steps.

        Raises:
            RedisUnavailable, OperationalError: The others are claimed again after the grace time.
        """
        return self._outbox.sweep()


@contextmanager
def _ignore_outage(task_id: str) -> Iterator[None]:
    """Log the error of a call that only informs monitors; the step continues without it."""
    try:
        yield
    except Exception as error:  # noqa: BLE001 - each result backend has its own errors
        log.warning("state of step %s not reported: %s", task_id, error)


def _ms_until(eta: object) -> int:
    """Return the milliseconds until the time at which a step starts; 0 for none."""
    moment = datetime.fromisoformat(eta) if isinstance(eta, str) else eta
    if not isinstance(moment, datetime):
        return 0
    now = datetime.now(UTC) if moment.tzinfo else datetime.now(UTC).replace(tzinfo=None)
    return max(0, int((moment - now).total_seconds() * 1000))


def install_steps(app: Celery, provider: Callable[[], Steps]) -> None:
    """Set the provider of the steps of an app; it is called once per process."""
    setattr(app, _ATTRIBUTE, provider)


def steps_of(app: Celery) -> Steps:
    """Return the steps of an app in this process."""
    provider: Callable[[], Steps] | None = getattr(app, _ATTRIBUTE, None)
    if provider is None:
        settings = settings_for(app)
        provider = per_process(lambda: Steps(app, settings))
        install_steps(app, provider)
    return provider()

"""Steps of Celery canvases in one process: their sessions, and the messages that are sent when these end."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Mapping
from contextlib import contextmanager
from datetime import UTC, datetime
from typing import TYPE_CHECKING, Any

from kombu.utils.json import loads

from ...config.settings import Settings
from ...jobs.collab import CollabJob
from ...models.errors import MessageTooLarge, NoRedis, RedisUnavailable, SessionNotFound, SymposiaError
from ...models.sessions.on_end import OnEnd
from ...models.text.ids import derived_id
from ...state.once import OnceStore
from ...state.steps import StepRecord, StepStore
from ...tasks.runtime.graph import broker_error
from ..building.connection import connect_in_use
from ..building.installed import settings_for
from ..building.runtime import per_process
from ..building.sessions import Sessions
from .documents import STEP, call_text, read_step
from .on_end import OnEndSender, result_data
from .once import Runs

if TYPE_CHECKING:
    from celery import Celery, Task

log = logging.getLogger(__name__)

#: State of a step whose session has not ended; turns that wait for a sub-session have it, too.
AWAITING = "AWAITING_SESSION"
#: Maximum bytes of a step with its document: workers refuse larger messages.
MAX_CALL_BYTES = 900_000
#: Maximum number of steps per claim.
_BATCH = 100
#: Milliseconds between two checks of a step whose session has not ended: the end of the session sends the message.
_CHECK_MS = 60_000
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
        self._on_end = OnEndSender(app, settings, self._store, fault_hook)

    @property
    def _grace_ms(self) -> int:
        return int(self._settings.redispatch_after_s * 1000)

    @contextmanager
    def sending(
        self, task_id: str, args: Any, kwargs: Mapping[str, Any], options: Mapping[str, Any]
    ) -> Iterator[None]:
        """Store a step while its message is sent in the block; without Redis the message is all there is."""
        session_id, is_new = session_id_of(task_id), False
        try:
            call = call_text(args, kwargs, {**options, "task_id": task_id})
            if (size := len(call.encode())) > MAX_CALL_BYTES:
                raise MessageTooLarge(size, limit_bytes=MAX_CALL_BYTES, field="step")
            delay_ms = int(1000 * (options.get("countdown") or 0)) or _ms_until(options.get("eta"))
            word = self._store.register(session_id, call, stage="sent", check_in_ms=self._grace_ms + delay_ms)
            is_new = word == "registered"
        except (NoRedis, RedisUnavailable) as error:
            log.warning("step %s is sent, but not stored: %s", task_id, error)
        try:
            yield
        except BaseException:
            if is_new:
                self._store.withdraw(session_id)
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
        job = self._find(session_id)
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
        task.update_state(state=AWAITING, meta={"collab_id": session_id})
        self._sessions.submit(submission)
        self._fault_hook("after-submit")
        self._store.mark_open(session_id)
        task.send_event("task-awaiting_session", result=repr(f"waits for session {session_id}"))

    def _find(self, session_id: str) -> CollabJob | None:
        try:
            return self._sessions.get(session_id)
        except SessionNotFound:
            return None

    def _is_revoked(self, session_id: str) -> bool:
        record = self._store.read(session_id)
        return record is not None and record.is_revoked

    def _report_revoked(self, task: Task[..., Any]) -> None:
        task.backend.mark_as_revoked(str(task.request.id), "revoked", request=task.request, store_result=True)
        self.finish(str(task.request.id))

    def finish(self, task_id: str) -> None:
        """Record that Celery has stored the result of a step, and sent what follows."""
        self._fault_hook("before-finish")
        self._on_end.end(session_id_of(task_id))

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
        job = self._find(session_id)
        if job is None or job.state().is_final:
            return
        try:
            job.cancel("the Celery task was revoked")
        except SymposiaError:
            if not job.state().is_final:
                raise

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

    # -- messages at the end ----------------------------------------------------------------

    def send(self, session_id: str) -> None:
        """Send the message of an ended session; if that fails, the sweep sends it."""
        # In a while, if this process is lost; at once, and a sweep would send a copy.
        self._store.index.set_due(session_id, self._grace_ms)
        self._fault_hook("before-message")
        try:
            self._check(session_id)
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
        for session_id in claimed:
            try:
                self._check(session_id)
            except (RedisUnavailable, broker_error()):
                raise
            except Exception:  # one step must not block the others
                log.exception("sending the message of session %s failed, will retry", session_id)
        return len(claimed)

    def _check(self, session_id: str) -> None:
        record = self._store.read(session_id)
        job = self._find(session_id)
        if record is None:
            self._send_on_end(session_id, job)
        elif record.stage == "done":
            self._store.index.remove(session_id)
        elif record.is_open and job is not None and not job.state().is_final:
            self._store.index.set_due(session_id, _CHECK_MS)
            if record.is_revoked:  # and the worker that cancels its session was lost
                self._cancel(session_id)
        else:
            self._send_step(session_id, record)

    def _send_step(self, session_id: str, record: StepRecord) -> None:
        if not record.call:
            self._store.index.remove(session_id)
            return
        call = loads(record.call)
        task: Any = self._app.tasks[STEP]
        # First: a crash after this line delays the next copy of the message, which a run after `done` ignores.
        self._store.index.set_due(session_id, self._grace_ms)
        options = dict(call["options"])
        if record.is_open:  # it has started in time
            options.pop("expires", None)
        task.send_again(tuple(call["args"]), call["kwargs"], options)
        self._fault_hook("after-message")

    def _send_on_end(self, session_id: str, job: CollabJob | None) -> None:
        """Send what was given to `submit`."""
        on_end = None if job is None else job.spec.on_end
        if job is None or on_end is None or on_end.task is not None:
            self._store.index.remove(session_id)  # it has expired, or was never opened
        elif not job.state().is_final:
            self._store.index.set_due(session_id, _CHECK_MS)
        else:
            self._on_end.send(job, on_end)


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

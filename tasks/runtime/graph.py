"""Dispatch of a step as Celery tasks: a group for parallel turns, one Celery task for a single turn."""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, Any

from ...models.protocol.collab import CollabMode
from ...models.text.ids import new_id
from ...state.sessions.queue_progress import SENT_MS
from ...state.sessions.turn_records import ParkedBy

if TYPE_CHECKING:
    from celery import Celery

    from ...patches.kept_tasks import KeptTask

TURN = "symposia.turn"
ADVANCE = "symposia.advance"


log = logging.getLogger(__name__)

#: Maximum seconds to connect to a broker after an outage.
_TIMEOUT_S = 2

#: For events: the broker may have closed an idle connection. Without a policy kombu would retry without limit.
_ONE_RETRY = {"max_retries": 1, "interval_start": 0, "interval_step": 0}


def broker_error() -> type[Exception]:
    """Return the exception that every transport raises when its broker is unavailable.

    Imported here: a process that only reads sessions needs no queue.
    """
    from kombu.exceptions import OperationalError

    return OperationalError


@contextmanager
def ignore_broker_outage(session_id: str) -> Iterator[None]:
    """Ignore a broker outage: it only delays a session, because the sweep sends the messages later."""
    try:
        yield
    except broker_error() as error:
        log.warning("broker unavailable, the sweep will dispatch session %s: %s", session_id, error)


@dataclass(frozen=True, slots=True)
class TurnCall:
    """The turn that a Celery task runs: the whole content of its message."""

    session: str
    turn: int
    participant: str
    mode: CollabMode
    scope: str
    #: Name of the agent, which the message does not contain; empty: not known.
    agent: str = ""

    def kwargs(self) -> dict[str, str | int]:
        """Return the task's keyword arguments."""
        return {
            "session": self.session,
            "turn": self.turn,
            "participant": self.participant,
            "mode": self.mode.value,
            "scope": self.scope,
        }

    def __str__(self) -> str:
        return f"session={self.session} mode={self.mode} turn={self.turn} participant={self.participant}"


class TaskGraph:
    """Dispatch of turns and continuations of sessions to the queue. Raises kombu's OperationalError if it fails.

    `find_app`: returns the Celery app, and is called when a message is sent for the first time.
    `knows_agent`: returns whether this process can run the agent of that name; None: it runs no turns.
    `is_fast`: returns whether the agent of that name probably answers at once.
    `sent_ms`: due time by the server's clock, in milliseconds; see `state/sessions/queue_progress.py`.
    """

    def __init__(
        self,
        find_app: Callable[[], Celery],
        *,
        knows_agent: Callable[[str], bool] | None = None,
        is_fast: Callable[[str], bool] = lambda _agent: False,
    ) -> None:
        self._find_app = find_app
        self._knows_agent = knows_agent
        self._is_fast = is_fast
        #: True if sending failed, and the broker has not been reached since.
        self._is_broker_down = False

    @property
    def _app(self) -> Celery:
        return self._find_app()

    def check(self) -> None:
        """Raise kombu's OperationalError if the broker was unavailable for the last message, and still is."""
        if self._is_broker_down:
            with self._app.connection_for_write() as connection:
                connection.ensure_connection(max_retries=1, interval_start=0, timeout=_TIMEOUT_S)
            self._is_broker_down = False

    @contextmanager
    def _sending(self) -> Iterator[None]:
        try:
            yield
        except broker_error():
            self._is_broker_down = True
            raise
        self._is_broker_down = False

    def send_turns(self, calls: Sequence[TurnCall], *, parent: str, sent_ms: int) -> None:
        """Send turns that may run in parallel.

        A worker's thread may keep the first of them for itself, and further ones if all their agents are fast.
        """
        from ...patches.kept_tasks import keep_task  # imports Celery, as `broker_error` does

        group_id = new_id() if len(calls) > 1 else None
        sent: list[KeptTask] = []
        for index, call in enumerate(calls):
            group = {"group": group_id, "group_index": index} if group_id else {}
            task = self._task(call, {"parent_id": parent, SENT_MS: sent_ms} | group)
            # A turn for another worker must be sent, because it would be deferred here.
            is_known = self._knows_agent is not None and self._knows_agent(call.agent)
            if not (is_known and keep_task(self._app, task)):
                sent.append(task)
        if sent:
            self._send([(task, ()) for task in sent])

    def _task(self, call: TurnCall, headers: dict[str, Any]) -> KeptTask:
        from ...patches.kept_tasks import KeptTask

        own = {"id": new_id(), "root_id": call.session, "kwargsrepr": str(call)}
        return KeptTask(TURN, call.kwargs(), own | headers, is_short=self._is_fast(call.agent))

    def send_kept(self, bundles: Sequence[Sequence[KeptTask]]) -> None:
        """Send turns that a worker kept, a message for each bundle: see `patches/kept_tasks.py`."""
        self._send([(tasks[0], tasks[1:]) for tasks in bundles])

    def _send(self, messages: Sequence[tuple[KeptTask, Sequence[KeptTask]]]) -> None:
        """Send a message for each task; it may carry further ones."""
        from ...patches.kept_tasks import bundle_headers

        amqp, has_event = self._app.amqp, self._app.conf.task_send_sent_event
        with (
            self._sending(),
            self._app.producer_or_acquire() as producer,
            # Converts any exception of the transport to OperationalError.
            producer.connection._reraise_as_library_errors(),  # noqa: SLF001 - as in `send_task`
        ):
            # As `group(...).apply_async()` and `send_task` send them, without their route lookups, copies of
            # signatures and result promises, which take a tenth of the time of a turn.
            for task, others in messages:
                message = amqp.create_task_message(
                    task.headers["id"],
                    task.name,
                    kwargs=task.kwargs,
                    root_id=task.headers["root_id"],
                    parent_id=task.headers["parent_id"],
                    group_id=task.headers.get("group"),
                    group_index=task.headers.get("group_index"),
                    create_sent_event=has_event,
                    argsrepr="",
                    kwargsrepr=task.headers["kwargsrepr"],
                    ignore_result=True,
                )
                headers = {SENT_MS: task.headers[SENT_MS], **bundle_headers(others)}
                amqp.send_task_message(producer, TURN, message, headers=headers)

    def send_advance(self, session_id: str, *, sent_ms: int, first: bool = False) -> None:
        """Send the Celery task that plans the next step.

        The first one of a session has the session's id as its task id: it is the root of the graph.
        """
        shown = f"session={session_id}"
        with self._sending():
            self._app.send_task(
                ADVANCE,
                kwargs={"session": session_id},
                task_id=session_id if first else new_id(),
                root_id=session_id,
                parent_id=None if first else session_id,
                headers={SENT_MS: sent_ms},
                argsrepr="",
                kwargsrepr=shown,
                add_to_parent=False,
                ignore_result=True,
            )

    def report(self, parked_by: ParkedBy, event: str, **fields: str) -> None:
        """Send an event about the Celery task that parked a turn, for monitors.

        Nothing is sent while the broker is unavailable, because the session does not depend on it.

        Args:
            parked_by: The Celery task.
            event: Type of the event, such as `task-succeeded`.
            fields: Fields of the event.
        """
        if self._is_broker_down or not parked_by.worker or not self._app.conf.worker_send_task_events:
            return
        # In the name of the worker that ran the Celery task: monitors list every sender as a worker.
        sent_events = self._app.amqp.sent_events  # type: ignore[attr-defined]  # `OneClientMessages`
        if sent_events.send_as_worker(parked_by.worker, event, {"uuid": parked_by.task_id, **fields}):
            return
        dispatcher = self._app.events.Dispatcher(hostname=parked_by.worker, enabled=False)
        try:
            with (
                self._app.producer_or_acquire() as producer,
                producer.connection._reraise_as_library_errors(),  # noqa: SLF001 - as in `send_task`
            ):
                dispatcher.publish(
                    event,
                    {"uuid": parked_by.task_id, **fields},
                    producer,
                    retry=True,
                    retry_policy=_ONE_RETRY,
                )
        except broker_error() as error:
            log.debug("event %s of Celery task %s not sent: %s", event, parked_by.task_id, error)

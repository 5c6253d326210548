"""Dispatch of a step as Celery tasks: a `group` for parallel turns, one Celery task for a single turn."""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from celery import Celery, group
from kombu.exceptions import OperationalError

from ...models.protocol.collab import CollabMode
from ...models.text.ids import new_id
from ...state.sessions.queue_progress import SENT_MS
from ...state.sessions.turn_records import ParkedBy

TURN = "symposia.turn"
ADVANCE = "symposia.advance"


log = logging.getLogger(__name__)

#: Maximum seconds to connect to a broker after an outage.
_TIMEOUT_S = 2

#: For events: the broker may have closed an idle connection. Without a policy kombu would retry without limit.
_ONE_RETRY = {"max_retries": 1, "interval_start": 0, "interval_step": 0}

#: Exception that every transport raises when its broker is unavailable.
BrokerConnectionError = OperationalError


@contextmanager
def ignore_broker_outage(session_id: str) -> Iterator[None]:
    """Ignore a broker outage: it only delays a session, because the sweep sends the messages later."""
    try:
        yield
    except BrokerConnectionError as error:
        log.warning("broker unavailable, the sweep will dispatch session %s: %s", session_id, error)


@dataclass(frozen=True, slots=True)
class TurnCall:
    """The turn that a Celery task runs: the whole content of its message."""

    session: str
    turn: int
    participant: str
    mode: CollabMode
    scope: str

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
    """Dispatch of turns and continuations of sessions to the queue. Raises BrokerConnectionError if it fails.

    `sent_ms`: due time by the server's clock, in milliseconds; see `state/sessions/queue_progress.py`.
    """

    def __init__(self, app: Celery) -> None:
        self._app = app
        #: True if sending failed, and the broker has not been reached since.
        self._is_broker_down = False

    def check(self) -> None:
        """Raise BrokerConnectionError if the broker was unavailable for the last message, and still is."""
        if self._is_broker_down:
            with self._app.connection_for_write() as connection:
                connection.ensure_connection(max_retries=1, interval_start=0, timeout=_TIMEOUT_S)
            self._is_broker_down = False

    @contextmanager
    def _sending(self) -> Iterator[None]:
        try:
            yield
        except BrokerConnectionError:
            self._is_broker_down = True
            raise
        self._is_broker_down = False

    def send_turns(self, calls: Sequence[TurnCall], *, parent: str, sent_ms: int) -> None:
        """Send turns that may run in parallel."""
        with self._sending():
            self._send_turns(calls, parent=parent, headers={SENT_MS: sent_ms})

    def _send_turns(self, calls: Sequence[TurnCall], *, parent: str, headers: dict[str, int]) -> None:
        if len(calls) == 1:
            self._send_turn(calls[0], parent=parent, headers=headers)
        elif calls:
            turns = [
                self._app.signature(
                    TURN, kwargs=call.kwargs(), options={**self._options(call), "headers": headers}
                )
                for call in calls
            ]
            group(turns, app=self._app).apply_async(
                root_id=calls[0].session, parent_id=parent, add_to_parent=False
            )

    def _send_turn(self, call: TurnCall, *, parent: str, headers: dict[str, int]) -> None:
        """Send a turn like Celery's `send_task`, without its route lookup and result promise.

        Those two take a twentieth of the time of a turn.
        """
        amqp = self._app.amqp
        message = amqp.create_task_message(
            new_id(),
            TURN,
            kwargs=call.kwargs(),
            root_id=call.session,
            parent_id=parent,
            create_sent_event=self._app.conf.task_send_sent_event,
            **self._options(call),
        )
        with (
            self._app.producer_or_acquire() as producer,
            # Converts any exception of the transport to BrokerConnectionError.
            producer.connection._reraise_as_library_errors(),  # noqa: SLF001 - as in `send_task`
        ):
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
        except BrokerConnectionError as error:
            log.debug("event %s of Celery task %s not sent: %s", event, parked_by.task_id, error)

    @staticmethod
    def _options(call: TurnCall) -> dict[str, Any]:
        return {"argsrepr": "", "kwargsrepr": str(call), "ignore_result": True}

"""A step as Celery tasks: a `group` for turns side by side, one task for a turn alone.

Every message carries identifiers only, so its size does not depend on the dialog. Turns in
sequence are no chain: each is sent by the commit of the one before, because a chain's message
carries all that is still to come and a chain or chord ends silently when a worker dies in the
wrong place. `root_id` is the session's id, which is also the id of the task that started it;
`parent_id` is the task that planned the turn. So Flower and `symposia graph` show one tree.
"""

from __future__ import annotations

import logging
from collections.abc import Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import Any

from celery import Celery, group
from kombu.exceptions import OperationalError

from ..models.collab import CollabMode
from ..models.ids import new_id
from ..state.taken import SENT_MS
from .names import ADVANCE, TURN

log = logging.getLogger(__name__)

#: What every transport's loss of its broker is raised as.
BrokerAway = OperationalError


@contextmanager
def left_to_the_sweep(session_id: str) -> Iterator[None]:
    """A broker that is away delays a session and no more: what could not be sent, the sweep sends."""
    try:
        yield
    except BrokerAway as error:
        log.warning("session %s waits for the sweep: the broker does not answer (%s)", session_id, error)


@dataclass(frozen=True, slots=True)
class TurnCall:
    """Which turn a task is to run: all that travels on the wire."""

    session: str
    turn: int
    participant: str
    mode: CollabMode
    scope: str

    def kwargs(self) -> dict[str, str | int]:
        """The task's keyword arguments."""
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
    """Sends turns and continuations of sessions to the queue. Raises BrokerAway when it cannot.

    `sent_ms` is the server's clock by which they became owed: see `state/taken.py`.
    """

    def __init__(self, app: Celery) -> None:
        self._app = app

    def send_turns(self, calls: Sequence[TurnCall], *, parent: str, sent_ms: int) -> None:
        """Dispatches turns that may run side by side from now on."""
        headers = {SENT_MS: sent_ms}
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
        """Celery's `send_task`, without the route it would look up and the result it would promise: a twentieth of a turn."""
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
            # Whatever the transport raises, as BrokerAway.
            producer.connection._reraise_as_library_errors(),  # noqa: SLF001 - as in `send_task`
        ):
            amqp.send_task_message(producer, TURN, message, headers=headers)

    def send_advance(self, session_id: str, *, sent_ms: int, first: bool = False) -> None:
        """Has some worker plan on. The first one's task id is the session's: the root of its graph."""
        shown = f"session={session_id}"
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

    @staticmethod
    def _options(call: TurnCall) -> dict[str, Any]:
        return {"argsrepr": "", "kwargsrepr": str(call), "ignore_result": True}

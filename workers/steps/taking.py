"""Record of the send times of messages that a worker takes from the queue."""

from __future__ import annotations

from typing import Any

from celery import bootsteps

from ...state.sessions.taken import SENT_MS
from ...tasks.runtime.runtime import runtime_of


class SentTimeStep(bootsteps.StartStopStep):
    """Records send times while the consumer runs; the sweep passes them to other workers."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def start(self, consumer: Any) -> None:
        """As in StartStopStep."""
        consumer.on_task_message.add(self._note)  # a set: after a reconnect it is already in it

    @staticmethod
    def _note(request: Any) -> None:
        runtime_of(request.app).queue_progress.record_taken(request.request_dict.get(SENT_MS))

"""What a worker notes of the messages that it takes from the queue: the time at which each was sent."""

from __future__ import annotations

from typing import Any

from celery import bootsteps

from ..state.taken import SENT_MS
from ..tasks.runtime import runtime_of


class TakenStep(bootsteps.StartStopStep):
    """Notes it as long as the consumer runs; the sweep tells the other workers."""

    requires = ("celery.worker.consumer.tasks:Tasks",)

    def start(self, consumer: Any) -> None:
        """As in StartStopStep."""
        consumer.on_task_message.add(self._note)  # a set: after a loss of the broker it is there already

    @staticmethod
    def _note(request: Any) -> None:
        runtime_of(request.app).taken.note(request.request_dict.get(SENT_MS))

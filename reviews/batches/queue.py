"""Batch reviews as Celery tasks: a `group` for items that may begin in parallel, one task to advance a batch.

Messages hold identifiers only, and are hints: the sweep finds lost ones.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from celery import Celery, group
from pydantic import JsonValue

from ...tasks.runtime.graph import BrokerConnectionError
from .names import REVIEW_ITEM_TASK, REVIEW_TASK

log = logging.getLogger(__name__)

#: Session parameter with the batch and item it reviews.
REVIEW_PARAMETER = "review"


class ReviewQueue:
    """Dispatch of batches and their items to workers. After a broker outage the sweep sends them."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def send_items(self, batch_id: str, numbers: Sequence[int]) -> None:
        """Dispatch items that must be started or settled."""
        tasks = [
            self._app.signature(
                REVIEW_ITEM_TASK,
                kwargs={"batch": batch_id, "item": number},
                options=_options(f"batch={batch_id} item={number}"),
            )
            for number in numbers
        ]
        if not tasks:
            return
        try:
            group(tasks, app=self._app).apply_async(root_id=batch_id, add_to_parent=False)
        except BrokerConnectionError as error:
            log.warning("broker unavailable, the sweep will dispatch review %s: %s", batch_id, error)

    def send_batch(self, batch_id: str) -> None:
        """Dispatch a batch. Raises BrokerAway."""
        self._app.send_task(
            REVIEW_TASK, kwargs={"batch": batch_id}, root_id=batch_id, **_options(f"batch={batch_id}")
        )

    def session_ended(self, parameters: Mapping[str, JsonValue]) -> None:
        """Handle the end of a session with these parameters: if it reviewed an item, settle the item."""
        told = parameters.get(REVIEW_PARAMETER)
        if not isinstance(told, dict):
            return
        batch, number = told.get("batch"), told.get("item")
        if isinstance(batch, str) and isinstance(number, int):
            self.send_items(batch, [number])


def _options(shown: str) -> dict[str, Any]:
    return {"argsrepr": "", "kwargsrepr": shown, "add_to_parent": False, "ignore_result": True}

"""Batch reviews as Celery tasks: a `group` for the items that may begin side by side, one task for a batch to go on.

Messages hold identifiers only, and are hints: what gets lost the sweep finds.
"""

from __future__ import annotations

import logging
from collections.abc import Mapping, Sequence
from typing import Any

from celery import Celery, group
from pydantic import JsonValue

from ..tasks.graph import BrokerAway
from .names import REVIEW, REVIEW_ITEM

log = logging.getLogger(__name__)

#: The parameter of a session that tells which item of which batch it reviews.
PARAMETER = "review"


class ReviewQueue:
    """Sends batches and their items to workers. A broker that is away is left to the sweep."""

    def __init__(self, app: Celery) -> None:
        self._app = app

    def send_items(self, batch_id: str, numbers: Sequence[int]) -> None:
        """Has items looked at: begun, or settled."""
        tasks = [
            self._app.signature(
                REVIEW_ITEM,
                kwargs={"batch": batch_id, "item": number},
                options=_options(f"batch={batch_id} item={number}"),
            )
            for number in numbers
        ]
        if not tasks:
            return
        try:
            group(tasks, app=self._app).apply_async(root_id=batch_id, add_to_parent=False)
        except BrokerAway as error:
            log.warning("review %s waits for the sweep: the broker does not answer (%s)", batch_id, error)

    def send_batch(self, batch_id: str) -> None:
        """Has a batch go on. Raises BrokerAway."""
        self._app.send_task(
            REVIEW, kwargs={"batch": batch_id}, root_id=batch_id, **_options(f"batch={batch_id}")
        )

    def session_ended(self, parameters: Mapping[str, JsonValue]) -> None:
        """A session with these parameters has ended: if it reviewed an item, that is settled."""
        told = parameters.get(PARAMETER)
        if not isinstance(told, dict):
            return
        batch, number = told.get("batch"), told.get("item")
        if isinstance(batch, str) and isinstance(number, int):
            self.send_items(batch, [number])


def _options(shown: str) -> dict[str, Any]:
    return {"argsrepr": "", "kwargsrepr": shown, "add_to_parent": False, "ignore_result": True}

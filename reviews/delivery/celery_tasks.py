"""The Celery task of a delivery, its sweep, and the deliverer of a process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from celery import Celery, shared_task
from pydantic import ValidationError

from ...models.errors import ArchiveUnavailable, invalid_input
from ...models.text.ids import new_id
from ..values.runs import DeliveryJob
from .deliverer import Deliverer, sweep_deliveries

if TYPE_CHECKING:
    from celery import Task

log = logging.getLogger(__name__)

DELIVER = "symposia.deliver"
_ATTRIBUTE = "symposia_deliverer"


def install_deliverer(app: Celery, provider: Callable[[], Deliverer]) -> None:
    """Set the provider of the deliverer of an app; it is called once per process, on first use."""
    setattr(app, _ATTRIBUTE, provider)


def deliverer_of(app: Celery) -> Deliverer:
    """Return the deliverer of this process."""
    provider: Callable[[], Deliverer] = getattr(app, _ATTRIBUTE)
    return provider()


@shared_task(name=DELIVER, bind=True, ignore_result=True)
def deliver_task(self: Task[..., str], *, delivery: str) -> str:
    """Run one delivery; return a short text for monitors.

    A message is only a hint: a delivery that is not in the delivery queue is skipped.
    """
    try:
        asked = DeliveryJob.model_validate_json(delivery)
    except ValidationError as error:
        log.warning(
            "dropping malformed delivery task %s: %s", self.request.id, invalid_input(error, "delivery")
        )
        return "malformed delivery"
    try:
        deliverer_of(self.app).deliver(asked)
    except ArchiveUnavailable as error:
        log.warning("delivery of review %s to %s failed, will retry: %s", asked.run, asked.to, error)
        return "archive unavailable, will retry"
    return f"checked the delivery of review {asked.run} to {asked.to}"


def send_due_deliveries(app: Celery) -> int:
    """Send a task for each due delivery.

    Raises:
        OperationalError: The broker does not answer.
        RedisUnavailable: Redis does not answer.
    """

    def send(delivery_job: DeliveryJob) -> None:
        app.send_task(
            DELIVER,
            kwargs={"delivery": delivery_job.model_dump_json()},
            task_id=new_id(),
            argsrepr="",
            kwargsrepr=f"run={delivery_job.run} to={delivery_job.to}",
            add_to_parent=False,
            ignore_result=True,
        )

    return sweep_deliveries(deliverer_of(app).index, send)

"""Celery tasks of batch reviews (a batch, an item, a delivery), and the deliverer of a process."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from celery import Celery, shared_task
from pydantic import ValidationError

from ..models.errors import ArchiveUnavailable, NewerFormat, ReviewNotFound, invalid_input
from ..models.text.ids import new_id
from .batches.batch import advance_batch, advance_item
from .batches.context import DELIVER, REVIEW_ITEM_TASK, REVIEW_TASK, review_context_of
from .delivery.deliverer import Deliverer, sweep_deliveries
from .values.runs import DeliveryJob

if TYPE_CHECKING:
    from celery import Task

log = logging.getLogger(__name__)

_ATTRIBUTE = "symposia_deliverer"
#: Logged in one line, without a traceback; the sweep sends the message again, until a newer worker takes it.
_EXPECTED = (NewerFormat,)
_NO_ARCHIVE = "archive unavailable, will retry"


@shared_task(
    name=REVIEW_TASK,
    bind=True,
    ignore_result=True,
    acks_late=True,
    reject_on_worker_lost=True,
    throws=_EXPECTED,
)
def review_task(self: Task[..., str], *, batch: str) -> str:
    """Advance a batch; return a short text for monitors.

    A message is only a hint: it may arrive twice, late or never.
    """
    try:
        advance_batch(review_context_of(self.app), batch)
    except ArchiveUnavailable as error:
        log.warning("archiving review %s failed, will retry: %s", batch, error)
        return _NO_ARCHIVE
    return f"advanced review {batch}"


@shared_task(
    name=REVIEW_ITEM_TASK,
    bind=True,
    ignore_result=True,
    acks_late=True,
    reject_on_worker_lost=True,
    throws=_EXPECTED,
)
def review_item_task(self: Task[..., str], *, batch: str, item: int) -> str:
    """Advance one item of a batch; return a short text for monitors."""
    try:
        advance_item(review_context_of(self.app), batch, item)
    except ReviewNotFound:
        return "review not found"  # it has ended and expired
    except ArchiveUnavailable as error:
        log.warning("archiving review %s failed, will retry: %s", batch, error)
        return _NO_ARCHIVE
    return f"advanced item {item} of review {batch}"


def install_deliverer(app: Celery, provider: Callable[[], Deliverer]) -> None:
    """Set the provider of the deliverer of an app; it is called once per process, on first use."""
    setattr(app, _ATTRIBUTE, provider)


def deliverer_of(app: Celery) -> Deliverer:
    """Return the deliverer of this process."""
    provider: Callable[[], Deliverer] = getattr(app, _ATTRIBUTE)
    return provider()


@shared_task(name=DELIVER, bind=True, ignore_result=True, acks_late=True, reject_on_worker_lost=True)
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
        return _NO_ARCHIVE
    return f"checked the delivery of review {asked.run} to {asked.to}"


def send_due_deliveries(app: Celery) -> int:
    """Send a task for each due delivery. Raises OperationalError, RedisUnavailable."""

    def send(job: DeliveryJob) -> None:
        app.send_task(
            DELIVER,
            kwargs={"delivery": job.model_dump_json()},
            task_id=new_id(),
            argsrepr="",
            kwargsrepr=f"run={job.run} to={job.to}",
            add_to_parent=False,
            ignore_result=True,
            serializer="json",
        )

    return sweep_deliveries(deliverer_of(app).index, send)

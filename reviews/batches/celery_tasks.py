"""Celery tasks of batch reviews. They find the review context and call the functions that do the work."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from celery import shared_task

from ...models.errors import ArchiveUnavailable, ReviewNotFound
from .batch import go_on, look_at
from .context import office_of
from .names import REVIEW, REVIEW_ITEM

if TYPE_CHECKING:
    from celery import Task

log = logging.getLogger(__name__)


@shared_task(name=REVIEW, bind=True, ignore_result=True)
def review_task(self: Task[..., None], *, batch: str) -> None:
    """Advance a batch. A message is only a hint: it may arrive twice, late or never."""
    try:
        go_on(office_of(self.app), batch)
    except ArchiveUnavailable as error:
        log.warning("report of review %s delayed, will retry: %s", batch, error)


@shared_task(name=REVIEW_ITEM, bind=True, ignore_result=True)
def review_item_task(self: Task[..., None], *, batch: str, item: int) -> None:
    """Advance one item of a batch."""
    try:
        look_at(office_of(self.app), batch, item)
    except ReviewNotFound:
        return  # ended and expired
    except ArchiveUnavailable as error:
        log.warning("report of review %s delayed, will retry: %s", batch, error)

"""The tasks of batch reviews. All they do is find the office and call what does the work."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from celery import shared_task

from ..models.errors import ArchiveUnavailable, ReviewNotFound
from .batch import go_on, look_at
from .names import REVIEW, REVIEW_ITEM
from .office import office_of

if TYPE_CHECKING:
    from celery import Task

log = logging.getLogger(__name__)


@shared_task(name=REVIEW, bind=True, ignore_result=True)
def review_task(self: Task[..., None], *, batch: str) -> None:
    """Brings a batch forward. A delivery is a hint: it may come twice, late, or never."""
    try:
        go_on(office_of(self.app), batch)
    except ArchiveUnavailable as error:
        log.warning("review %s is reported later: %s", batch, error)


@shared_task(name=REVIEW_ITEM, bind=True, ignore_result=True)
def review_item_task(self: Task[..., None], *, batch: str, item: int) -> None:
    """Looks at one item of a batch."""
    try:
        look_at(office_of(self.app), batch, item)
    except ReviewNotFound:
        return  # ended and expired: nothing is owed to this message
    except ArchiveUnavailable as error:
        log.warning("review %s is reported later: %s", batch, error)

"""Celery tasks of batch reviews: one batch, and one item."""

from __future__ import annotations

import logging
from typing import TYPE_CHECKING

from celery import shared_task

from ...models.errors import ArchiveUnavailable, NewerFormat, ReviewNotFound
from .batch import advance_batch, advance_item
from .context import REVIEW_ITEM_TASK, REVIEW_TASK, review_context_of

if TYPE_CHECKING:
    from celery import Task

log = logging.getLogger(__name__)

#: Logged in one line, without a traceback; the sweep sends the message again, until a newer worker takes it.
_EXPECTED = (NewerFormat,)
_NO_ARCHIVE = "archive unavailable, will retry"


@shared_task(name=REVIEW_TASK, bind=True, ignore_result=True, throws=_EXPECTED)
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


@shared_task(name=REVIEW_ITEM_TASK, bind=True, ignore_result=True, throws=_EXPECTED)
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

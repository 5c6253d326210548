"""Sending of the Celery task of a schedule, for workers, programs and the command line.

Separate from `celery_tasks.py`, because that imports Celery, and a program that only lists schedules sends nothing.
"""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from ..models.text.ids import new_id
from .store import SCHEDULE_RUN_TASK

if TYPE_CHECKING:
    from celery import Celery


def send_schedule_task(find_app: Callable[[], Celery], schedule: str) -> None:
    """Send the Celery task of a schedule, which starts its due runs in a worker."""
    find_app().send_task(
        SCHEDULE_RUN_TASK,
        kwargs={"schedule": schedule},
        task_id=new_id(),
        argsrepr="",
        kwargsrepr=f"schedule={schedule}",
        add_to_parent=False,
        ignore_result=True,
    )

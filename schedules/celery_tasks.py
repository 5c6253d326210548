"""The Celery task of a schedule, its sweep, and the schedule runner of a process."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from celery import Celery, shared_task

from ..models.errors import NewerFormat
from .runner import ScheduleRunner
from .store import SCHEDULE_RUN_TASK, send_schedule_task

if TYPE_CHECKING:
    from celery import Task

#: Maximum schedules that a sweep claims at once, and milliseconds of the claim.
_BATCH, _HOLD_MS = 100, 10_000

#: Logged in one line, without a traceback; the sweep sends the message again, until a newer worker takes it.
_EXPECTED = (NewerFormat,)
_ATTRIBUTE = "symposia_schedule_runner"


def install_schedule_runner(app: Celery, provider: Callable[[], ScheduleRunner]) -> None:
    """Set the provider of the schedule runner of an app; it is called once per process, on first use."""
    setattr(app, _ATTRIBUTE, provider)


def schedule_runner_of(app: Celery) -> ScheduleRunner:
    """Return the schedule runner of this process."""
    provider: Callable[[], ScheduleRunner] = getattr(app, _ATTRIBUTE)
    return provider()


@shared_task(
    name=SCHEDULE_RUN_TASK,
    bind=True,
    ignore_result=True,
    acks_late=True,
    reject_on_worker_lost=True,
    throws=_EXPECTED,
)
def schedule_task(self: Task[..., str], *, schedule: str) -> str:
    """Process one schedule; return a short text for monitors.

    The message is a hint: it may arrive twice, late or never.
    """
    schedule_runner_of(self.app).process_schedule(schedule)
    return f"checked schedule {schedule}"


def sweep_schedules(app: Celery) -> int:
    """Send a message for each schedule with an active run, or with a due time that no beat announced."""
    index, sent = schedule_runner_of(app).store.index, 0
    while True:
        names = index.claim(limit=_BATCH, hold_ms=_HOLD_MS)
        for name in names:
            send_schedule_task(lambda: app, name)
        sent += len(names)
        if len(names) < _BATCH:
            return sent

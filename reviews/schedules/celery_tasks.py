"""The Celery task of a schedule, and the lookup of the service that runs it."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from celery import Celery, shared_task

from ...models.text.ids import new_id
from ...state.schedule_store import SCHEDULE_RUN_TASK
from .schedule_runner import ScheduleRunner

if TYPE_CHECKING:
    from celery import Task

#: Maximum schedules that a sweep claims at once, and milliseconds of the claim.
_BATCH, _HOLD_MS = 100, 10_000

_ATTRIBUTE = "symposia_schedule_runner"


def install_schedule_runner(app: Celery, provider: Callable[[], ScheduleRunner]) -> None:
    """Set the provider of the schedules of an app's tasks (called once a process, lazily)."""
    setattr(app, _ATTRIBUTE, provider)


def schedule_runner_of(app: Celery) -> ScheduleRunner:
    """Return the schedule service of this process."""
    provider: Callable[[], ScheduleRunner] = getattr(app, _ATTRIBUTE)
    return provider()


@shared_task(name=SCHEDULE_RUN_TASK, bind=True, ignore_result=True)
def schedule_task(self: Task[..., None], *, schedule: str) -> None:
    """Process one schedule. A delivery is a hint: it may come twice, late, or never."""
    schedule_runner_of(self.app).process_schedule(schedule)


def send_schedule_task(app: Celery, schedule: str) -> None:
    """Run the due occurrences of a schedule in some worker."""
    app.send_task(
        SCHEDULE_RUN_TASK,
        kwargs={"schedule": schedule},
        task_id=new_id(),
        argsrepr="",
        kwargsrepr=f"schedule={schedule}",
        add_to_parent=False,
        ignore_result=True,
    )


def sweep_schedules(app: Celery) -> int:
    """Send a message for each schedule that is due for a check: running ones, and due times without a message of a beat."""
    index, sent = schedule_runner_of(app).book.index, 0
    while True:
        names = index.claim(limit=_BATCH, hold_ms=_HOLD_MS)
        for name in names:
            send_schedule_task(app, name)
        sent += len(names)
        if len(names) < _BATCH:
            return sent

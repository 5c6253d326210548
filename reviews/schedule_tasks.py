"""The task that sees to a schedule, and where it finds who does."""

from __future__ import annotations

from collections.abc import Callable
from typing import TYPE_CHECKING

from celery import Celery, shared_task

from ..models.ids import new_id
from ..state.schedules import OCCURRENCE
from .occurrence import Keeper

if TYPE_CHECKING:
    from celery import Task

#: Schedules that a sweep claims at once, and for how long.
_BATCH, _HOLD_MS = 100, 10_000

_ATTRIBUTE = "symposia_keeper"


def install_keeper(app: Celery, provider: Callable[[], Keeper]) -> None:
    """Tells an app's tasks who sees to schedules (called once a process, lazily)."""
    setattr(app, _ATTRIBUTE, provider)


def keeper_of(app: Celery) -> Keeper:
    """Who sees to schedules in this process."""
    provider: Callable[[], Keeper] = getattr(app, _ATTRIBUTE)
    return provider()


@shared_task(name=OCCURRENCE, bind=True, ignore_result=True)
def occurrence_task(self: Task[..., None], *, schedule: str) -> None:
    """Sees to one schedule. A delivery is a hint: it may come twice, late, or never."""
    keeper_of(self.app).tend(schedule)


def send_word(app: Celery, schedule: str) -> None:
    """Has some worker see to a schedule."""
    app.send_task(
        OCCURRENCE,
        kwargs={"schedule": schedule},
        task_id=new_id(),
        argsrepr="",
        kwargsrepr=f"schedule={schedule}",
        add_to_parent=False,
        ignore_result=True,
    )


def sweep_schedules(app: Celery) -> int:
    """Sends word of each schedule that is due a look: what runs, and what no beat sent word of in time."""
    index, sent = keeper_of(app).book.index, 0
    while True:
        names = index.claim(limit=_BATCH, hold_ms=_HOLD_MS)
        for name in names:
            send_word(app, name)
        sent += len(names)
        if len(names) < _BATCH:
            return sent

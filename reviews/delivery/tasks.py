"""The task that runs an errand, and where it finds who does."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import TYPE_CHECKING

from celery import Celery, shared_task
from pydantic import ValidationError

from ...models.errors import ArchiveUnavailable
from ...models.ids import new_id
from ...models.review.errands import Errand
from .courier import Courier, sweep_errands

if TYPE_CHECKING:
    from celery import Task

log = logging.getLogger(__name__)

DELIVER = "symposia.deliver"
_ATTRIBUTE = "symposia_courier"


def install_courier(app: Celery, provider: Callable[[], Courier]) -> None:
    """Tells an app's tasks who delivers reports (called once a process, lazily)."""
    setattr(app, _ATTRIBUTE, provider)


def courier_of(app: Celery) -> Courier:
    """Who delivers reports in this process."""
    provider: Callable[[], Courier] = getattr(app, _ATTRIBUTE)
    return provider()


@shared_task(name=DELIVER, bind=True, ignore_result=True)
def deliver_task(self: Task[..., None], *, errand: str) -> None:
    """Runs an errand. A message is a hint: what is not owed is not delivered, whatever it says."""
    try:
        asked = Errand.model_validate_json(errand)
    except ValidationError:
        log.warning("an errand that cannot be read is left alone")
        return
    try:
        courier_of(self.app).run(asked)
    except ArchiveUnavailable as error:
        log.warning("review %s is delivered to %s later: %s", asked.run, asked.to, error)


def send_errands(app: Celery) -> int:
    """Sends a task for each errand whose time has come. Raises BrokerAway, RedisUnavailable."""

    def send(errand: Errand) -> None:
        app.send_task(
            DELIVER,
            kwargs={"errand": errand.model_dump_json()},
            task_id=new_id(),
            argsrepr="",
            kwargsrepr=f"run={errand.run} to={errand.to}",
            add_to_parent=False,
            ignore_result=True,
        )

    return sweep_errands(courier_of(app).index, send)

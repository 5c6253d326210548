"""The beat in a worker of another app (`celery -A shop worker -B`), which runs our schedules if it has none of its own."""

from __future__ import annotations

import logging
from typing import Any

from celery import bootsteps

log = logging.getLogger(__name__)

_CELERYS_SCHEDULER = "celery.beat:PersistentScheduler"
_OUR_SCHEDULER = "symposia.workers.beat.beat:SchedulesInRedis"


class EmbeddedBeatStep(bootsteps.Step):
    """Bootstep that chooses the scheduler, before Celery creates the beat."""

    def __init__(self, worker: Any, beat: bool = False, **_options: Any) -> None:
        if not beat:
            return
        if worker.scheduler == _CELERYS_SCHEDULER and not worker.app.conf.beat_schedule:
            worker.scheduler = worker.app.conf.beat_scheduler = _OUR_SCHEDULER
        else:
            log.warning(
                "the beat of this app does not run the schedules of Symposia: run `symposia beat` for them"
            )

"""First bootstep of a worker: it builds the runtime, which reads the agents file."""

from __future__ import annotations

import logging
from typing import Any

from celery import bootsteps

from ...models.errors import SymposiaError
from ...tasks.runtime.runtime import runtime_of

log = logging.getLogger(__name__)

#: Exit code of a worker with a wrong configuration; the same as for commands.
BAD_CONFIGURATION = 2


class RuntimeStep(bootsteps.StartStopStep):
    """Builds the runtime when the worker starts, so that a bad agents file is reported at once, and so are
    the faults of its agents.

    Nothing is closed when it stops: in a warm shutdown turns still speak, and need their leases, after
    this step. Its threads are daemons and end with the process.
    """

    requires = ("celery.worker.components:Pool",)

    def start(self, worker: Any) -> None:
        """End the worker with one line when the configuration is wrong: Celery logs any other exception with a traceback."""
        try:
            runtime = runtime_of(worker.app)
        except SymposiaError as error:
            log.critical("%s", error)
            raise SystemExit(BAD_CONFIGURATION) from None
        for problem in runtime.registry.check():
            log.warning("agents: %s", problem)

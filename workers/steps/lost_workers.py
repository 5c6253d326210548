"""Bootsteps of the heartbeat of this worker, and of the takeover of turns of lost workers."""

from __future__ import annotations

import logging
import os
from functools import partial
from typing import Any

from celery import Celery, bootsteps
from celery.signals import worker_process_shutdown, worker_shutdown

from ...client.building.runtime import per_process
from ...tasks.runtime.runtime import install_held_sessions, runtime_of
from ...tasks.sessions.sweep import take_over_lost_workers
from ..heartbeat.connection import HeartbeatConnection, HeartbeatProcess, new_process_id
from ..heartbeat.server import describe_server
from .background_loops import BackgroundLoop, LoopStep

log = logging.getLogger(__name__)

#: Seconds between two checks for lost workers.
_CHECK_EVERY_S = 1.0


class HeartbeatStep(bootsteps.Step):
    """Bootstep that connects the processes of this worker to its heartbeat process, which the main process starts.

    The socket exists before the pool forks its children.
    """

    def __init__(self, worker: Any, **_options: Any) -> None:
        try:
            heartbeat = HeartbeatProcess()
        except OSError as error:
            log.warning(
                "no heartbeat process, so turns of this worker are taken over late if it is killed: %s", error
            )
            return
        install_held_sessions(
            worker.app, per_process(partial(_connect, worker.app, worker.hostname, heartbeat, os.getpid()))
        )


def _connect(app: Celery, worker: str, heartbeat: HeartbeatProcess, main_process: int) -> HeartbeatConnection:
    if os.getpid() != main_process:
        connection = HeartbeatConnection(heartbeat.address, new_process_id(worker))
    else:
        connection = HeartbeatConnection(
            heartbeat.address,
            new_process_id(worker),
            ensure_running=heartbeat.ensure_running,
            describe_server=lambda: describe_server(runtime_of(app).store.client),
        )
    worker_shutdown.connect(connection.report_all_ended, weak=False)
    worker_process_shutdown.connect(connection.report_all_ended, weak=False)
    return connection


class LostWorkersStep(LoopStep):
    """Bootstep that takes over the turns of lost workers."""

    what = "lost-workers"

    def make_thread(self, worker: Any) -> BackgroundLoop:
        """Return the loop."""
        return BackgroundLoop(
            self.what, lambda: take_over_lost_workers(runtime_of(worker.app)), interval_s=_CHECK_EVERY_S
        )

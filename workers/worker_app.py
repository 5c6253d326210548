"""The Celery app of a worker.

This module does not read the settings; `app.py` does.
"""

from __future__ import annotations

import os
from collections.abc import Callable, Iterator
from contextlib import contextmanager
from functools import partial

from celery import Celery

from ..client.building.app import create_app
from ..client.building.connection import redis_url_in_use
from ..client.building.runtime import build_runtime, per_process, registry_source, with_current_agents
from ..client.building.schedules import build_schedule_runner
from ..client.steps.service import steps_of
from ..config.settings import Settings
from ..models.errors import SymposiaError
from ..patches.celery_consumer import install_cancel_turns
from ..patches.celery_events import SentEventsStep
from ..patches.celery_tracebacks import omit_ignored_tracebacks
from ..patches.kept_task_runner import KeptTasksStep
from ..patches.kept_tasks import install_kept_task_sender
from ..schedules.celery_tasks import install_schedule_runner
from ..tasks.runtime.end_messages import install_end_messages
from ..tasks.runtime.runtime import Runtime, install_runtime, runtime_of
from .heartbeat.steps import HeartbeatStep, LostWorkersStep
from .steps.background_loops import (
    ArchiveStep,
    DeliveryStep,
    NotesStep,
    NoticeStep,
    ReviewStep,
    ScheduleStep,
    TaskStep,
)
from .steps.monitoring import HealthStep, MetricsStep, write_counts
from .steps.session_steps import OnceStep, SessionStepsStep, install_revoke
from .steps.startup import AgentsQueueStep, OptionsStep, RuntimeStep, end_worker
from .steps.sweep import SentTimeStep, SweepStep
from .steps.webhook_steps import HookStep, WebhookStep
from .tracing.setup import start_tracing

#: Modules of our Celery tasks.
TASK_MODULES = (
    "symposia.tasks.celery_tasks",
    "symposia.schedules.celery_tasks",
    "symposia.reviews.celery_tasks",
    "symposia.client.steps.celery_tasks",
)


def create_worker_app(settings: Settings) -> Celery:
    """Return an app that runs Celery tasks, with their modules and the bootsteps of a worker."""
    app = create_app(settings)
    app.conf.include = [*TASK_MODULES]
    app.conf.worker_consumer = "symposia.patches.celery_consumer:ReconnectingConsumer"
    prepare_worker(app)
    return app


def prepare_worker(app: Celery) -> None:
    """Add our bootsteps and services to the workers of an app, whose settings are known."""
    settings: Settings = app.symposia_settings  # type: ignore[attr-defined]
    app.symposia_agents_queue, app.symposia_lanes = "", 0  # type: ignore[attr-defined]
    install_cancel_turns(app, partial(_cancel_turns, app))
    install_kept_task_sender(app, lambda bundles: runtime_of(app).graph.send_kept(bundles))  # noqa: PLW0108
    omit_ignored_tracebacks()
    install_revoke()
    install_end_messages(app, lambda: steps_of(app))
    app.steps["worker"].update(
        {
            AgentsQueueStep,
            ArchiveStep,
            NoticeStep,
            NotesStep,
            DeliveryStep,
            HeartbeatStep,
            HookStep,
            LostWorkersStep,
            MetricsStep,
            OnceStep,
            OptionsStep,
            ReviewStep,
            RuntimeStep,
            ScheduleStep,
            SessionStepsStep,
            SweepStep,
            TaskStep,
            WebhookStep,
        }
    )
    app.steps["consumer"].update({HealthStep, KeptTasksStep, SentEventsStep, SentTimeStep})

    main_process = os.getpid()

    def build() -> Callable[[], Runtime]:
        source = registry_source(settings, is_reporting=os.getpid() == main_process)
        runtime = build_runtime(
            app,
            settings,
            redis_url=redis_url_in_use(settings),
            tracing=start_tracing(),
            agents=source.current,
        )
        write_counts(runtime.ports.metrics)
        return with_current_agents(runtime, source.current)

    provider = per_process(build)
    install_runtime(app, lambda: provider()())  # noqa: PLW0108 - built later
    install_schedule_runner(
        app, per_process(lambda: build_schedule_runner(app, settings, redis_url=redis_url_in_use(settings)))
    )


@contextmanager
def end_misconfigured() -> Iterator[None]:
    """End the process with one line for a wrong configuration."""
    try:
        yield
    except SymposiaError as error:
        end_worker(error)


def _cancel_turns(app: Celery) -> None:
    """Cancel the turns of this process, which ends; the sessions stay reported, so that other workers take them over."""
    runtime = runtime_of(app)
    runtime.ports.held.keep_all()
    runtime.agents.leases.cancel_all()

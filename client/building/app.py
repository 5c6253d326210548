"""Builders of Celery apps and of the deliverer of reports, from the settings.

The apps of `create_app` send Celery tasks, as a client needs. `symposia.workers.worker_app` adds what a
worker needs.
"""

from __future__ import annotations

from contextlib import ExitStack
from functools import cache
from pathlib import Path
from typing import TYPE_CHECKING, cast

from celery import Celery

from ...agents.registry.source import FileKind, FileSource
from ...config.celery import celery_settings
from ...config.settings import Settings, read_variable
from ...models.errors import InvalidInput
from ...patches.broker_messages import read_headers_safely
from ...patches.control_messages import BoundedClock
from ...reviews.batches.context import install_review_context, review_context_of
from ...reviews.celery_tasks import install_deliverer
from ...reviews.delivery.deliverer import Deliverer
from ...reviews.delivery.destinations import DEFAULT_FILE, Destinations
from ...reviews.job import ReviewJob
from ...reviews.state.decisions import DecisionStore
from ...reviews.state.queues import DeliveryQueue
from ...reviews.values.runs import ReviewRun
from ...state.redis.connect import connect
from .broker import broker_url_in_use
from .connection import open_archive, redis_url_in_use
from .installed import install_settings
from .reviews import build_review_context
from .runtime import per_process
from .sessions import Sessions

if TYPE_CHECKING:
    from ...patches.kombu_transport import OwnPoolMessages


def load_deliveries(settings: Settings) -> Destinations:
    """Return the configured destinations.

    Raises:
        InvalidInput: The file breaks a rule; the error names file, field and rule.
    """
    return Destinations.load(settings.deliveries_file, getenv=read_variable)


def _removed_deliveries_file(path: Path) -> InvalidInput:
    return InvalidInput("deliveries_file", str(path), "was removed")


_DELIVERIES_FILE = FileKind(
    "deliveries file",
    "deliveries",
    _removed_deliveries_file,
    Destinations.problems,
    "affected reports are not delivered",
)


def build_deliverer(app: Celery, settings: Settings, *, redis_url: str) -> Deliverer:
    """Return the deliverer of reports of a process, which follows changes of the deliveries file. Connects lazily."""

    @cache
    def source() -> FileSource[Destinations]:
        path = settings.deliveries_file or DEFAULT_FILE
        return FileSource(path, lambda *_: load_deliveries(settings), _DELIVERIES_FILE)

    def read_run(run_id: str) -> ReviewRun:
        return ReviewJob(run_id, review_context_of(app)).run()

    def transcript(session_id: str) -> str:
        return Sessions(settings, lambda: app).get(session_id).transcript()

    client = connect(redis_url)
    return Deliverer(
        lambda: source().current(),
        DeliveryQueue(client),
        DecisionStore(client),
        read_run=read_run,
        transcript=transcript,
    )


_MESSAGES = "symposia.patches.kombu_transport:OneClientMessages"


def create_client_app(settings: Settings, opened: ExitStack) -> Celery:
    """Return an app as `create_app` does; `opened` closes its connections to the broker."""
    app = create_app(settings, messages="symposia.patches.kombu_transport:OwnPoolMessages")
    opened.callback(cast("OwnPoolMessages", app.amqp).close)
    return app


def create_app(settings: Settings, *, messages: str = _MESSAGES) -> Celery:
    """Return an app that sends Celery tasks. Connects lazily.

    Args:
        settings: The settings of the installation.
        messages: The class that sends messages: Celery's argument `amqp`.
    """
    app = Celery(
        "symposia",
        set_as_current=False,
        amqp=messages,
        control="symposia.patches.control_messages:CheckedControl",
        events="symposia.patches.control_messages:CheckedEvents",
    )
    app.clock = BoundedClock()  # type: ignore[attr-defined]
    read_headers_safely()
    app.config_from_object(celery_settings(settings, broker_url=broker_url_in_use(settings)))
    app.symposia_settings = settings  # type: ignore[attr-defined]  # the bootsteps of workers read it
    install_settings(app, lambda: settings)
    install_reviews(app, settings)
    return app


def install_reviews(app: Celery, settings: Settings) -> None:
    """Set the services with which the tasks of an app run reviews and deliver reports. They connect lazily."""
    install_review_context(
        app,
        per_process(
            lambda: build_review_context(
                lambda: app, settings, connect(redis_url_in_use(settings)), open_archive(settings)
            )
        ),
    )
    install_deliverer(
        app, per_process(lambda: build_deliverer(app, settings, redis_url=redis_url_in_use(settings)))
    )

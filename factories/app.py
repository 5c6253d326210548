"""Makes Celery apps from settings.

`create_app` makes one that sends Celery tasks, which is all that a client needs. `symposia.workers.worker_app` adds what
a worker needs.
"""

from __future__ import annotations

from contextlib import ExitStack
from typing import TYPE_CHECKING, cast

from celery import Celery

from ..config.celery import celery_settings
from ..config.settings import Settings
from ..reviews.batches.context import install_review_context
from ..reviews.delivery.celery_tasks import install_deliverer
from ..state.redis.connect import connect
from .archive import open_archive
from .connection import broker_url_in_use, redis_url_in_use
from .delivery import build_deliverer
from .reviews import build_review_context
from .runtime import per_process

if TYPE_CHECKING:
    from ..patches.broker_pool import OwnPoolMessages

_MESSAGES = "symposia.patches.kombu_transport:OneClientMessages"


def create_client_app(settings: Settings, opened: ExitStack) -> Celery:
    """Return an app as `create_app` does; `opened` closes its connections to the broker."""
    app = create_app(settings, messages="symposia.patches.broker_pool:OwnPoolMessages")
    opened.callback(cast("OwnPoolMessages", app.amqp).close)
    return app


def create_app(settings: Settings, *, messages: str = _MESSAGES) -> Celery:
    """Return an app that sends Celery tasks. Connects lazily.

    Args:
        settings: The settings of the installation.
        messages: The class that sends messages: Celery's argument `amqp`.
    """
    app = Celery("symposia", set_as_current=False, amqp=messages)
    app.config_from_object(celery_settings(settings, broker_url=broker_url_in_use(settings)))
    install_review_context(
        app,
        per_process(
            lambda: build_review_context(
                app, settings, connect(redis_url_in_use(settings)), open_archive(settings)
            )
        ),
    )
    install_deliverer(
        app, per_process(lambda: build_deliverer(app, settings, redis_url=redis_url_in_use(settings)))
    )
    return app

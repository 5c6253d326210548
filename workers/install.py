"""`symposia.install`: sessions in the Celery application of the user.

    app = Celery("shop", broker=..., backend=...)
    symposia.install(app)

The workers of the app then run turns beside its own tasks. Nothing is imported, read or changed until a worker starts
or a client uses the app: by then the configuration of the app is complete. The app keeps its serializer, compression,
result backend, routes and queues: what our messages need is set on each of them.
"""

from __future__ import annotations

import logging
from functools import partial
from importlib import import_module
from threading import RLock
from typing import Any

from celery import Celery
from celery.signals import import_modules, worker_init, worker_ready
from pydantic import SecretStr

from ..client.building.installed import install_settings, is_installed
from ..config.celery import QUEUE_ORDER, check_queue_support, has_redis_transport
from ..config.settings import Settings, load_settings
from ..models.errors import InvalidInput
from ..tasks.runtime.queues import ALL_TASKS, ROUTE_ATTRIBUTE, queue_name, serves_sessions

log = logging.getLogger(__name__)

_CELERYS_CONSUMER = "celery.worker.consumer:Consumer"
_OUR_CONSUMER = "symposia.patches.celery_consumer:ReconnectingConsumer"


class _Installed:
    """What is known of an app until its configuration is complete, and then its settings."""

    def __init__(self, app: Celery, given: Settings | None) -> None:
        self.given = given
        self.app = app
        self._lock = RLock()

    def prepare(self) -> Settings:
        """Prepare the app once, and return the settings.

        Raises:
            InvalidInput: A setting breaks a rule.
        """
        with self._lock:
            settings: Settings | None = getattr(self.app, "symposia_settings", None)
            if settings is None:
                settings = _with_broker(self.app, self.given or load_settings())
                check_queue_support(settings)
                self.app.symposia_settings = settings  # type: ignore[attr-defined]
                route_tasks(self.app, settings)
            return settings


_ATTRIBUTE = "symposia_installed"


def install(app: Celery, settings: Settings | None = None) -> None:
    """Let the workers of a Celery app run sessions, and its other processes submit them with `Client(app=app)`.

    A worker that is started with the option `-Q` runs sessions if one of their queues is among its queues.

    Args:
        app: The Celery app.
        settings: The settings of the installation. None: those of the process that uses the app.

    Raises:
        InvalidInput: Symposia is installed on it with other settings.
    """
    before: _Installed | None = getattr(app, _ATTRIBUTE, None)
    if before is None and is_installed(app):
        return  # an app of Symposia itself
    if before is not None:
        if settings is not None and settings != before.given:
            raise InvalidInput("settings", "(others)", "must be those of the first symposia.install(app)")
        return
    installed = _Installed(app, settings)
    app.symposia_installed = installed  # type: ignore[attr-defined]
    install_settings(app, installed.prepare)
    import_modules.connect(partial(_load_tasks, installed), sender=app, weak=False)
    worker_init.connect(partial(_prepare_worker, app), weak=False)


def _with_broker(app: Celery, settings: Settings) -> Settings:
    """Return settings with the broker of the app, over which its messages go."""
    url = app.conf.broker_write_url or app.conf.broker_url
    return settings.model_copy(update={"broker_url": SecretStr(str(url))}) if url else settings


def route_tasks(app: Celery, settings: Settings) -> None:
    """Route our tasks to the queue of the settings, unless a route of the app says otherwise."""
    name = settings.queue
    own = app.conf.task_routes
    routes = [] if own is None else list(own) if isinstance(own, list | tuple) else [own]
    app.conf.task_routes = [*routes, {ALL_TASKS: {"queue": name}}]
    app.amqp.flush_routes()
    app.amqp.__dict__.pop("router", None)
    app.__dict__.pop(ROUTE_ATTRIBUTE, None)
    if name not in app.amqp.queues:
        queue = app.amqp.queues.new_missing(name)
        if settings.queue_type == "quorum":
            queue.queue_arguments = {**(queue.queue_arguments or {}), "x-queue-type": "quorum"}
        app.amqp.queues.add(queue)


def _load_tasks(installed: _Installed, **_: Any) -> None:
    """Import our tasks in a process that runs or schedules tasks."""
    from .worker_app import TASK_MODULES, end_misconfigured

    with end_misconfigured():
        installed.prepare()
    for module in TASK_MODULES:
        import_module(module)
    queues = installed.app.amqp.queues
    queues.select_add(queues[queue_name(installed.app)])  # the options -Q and -X, which come next, are obeyed


def _prepare_worker(app: Celery, sender: Any = None, **_: Any) -> None:
    """Add our parts to a worker of the app, before it builds its own; its queues are chosen by now."""
    if sender is None or sender.app is not app:
        return
    from ..client.building.app import install_reviews
    from .worker_app import prepare_worker

    if not serves_sessions(app):
        # Its tasks may follow a session.
        app.steps["worker"].add("symposia.workers.steps.session_steps:OnceStep")
        worker_ready.connect(_say_idle, weak=False)  # no handler of a log exists before
        return
    conf = app.conf
    if conf.worker_consumer in (None, _CELERYS_CONSUMER):
        conf.worker_consumer = _OUR_CONSUMER
    if "json" not in conf.accept_content and "application/json" not in conf.accept_content:
        conf.accept_content = [*conf.accept_content, "json"]
    options = conf.broker_transport_options
    if has_redis_transport(str(conf.broker_url)) and "queue_order_strategy" not in options:
        conf.broker_transport_options = {**options, "queue_order_strategy": QUEUE_ORDER}
    install_reviews(app, app.symposia_settings)
    prepare_worker(app)
    app.steps["worker"].add("symposia.workers.steps.embedded_beat:EmbeddedBeatStep")


def _say_idle(**_: Any) -> None:
    log.info("this worker consumes no queue of sessions: it runs none")

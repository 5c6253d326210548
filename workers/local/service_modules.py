"""Modules that the services of `symposia up` import until they are ready: the fork server imports them once for all.

A module that is missing here costs a service time and memory of its own, and nothing else.
"""

from __future__ import annotations

_MODULES = {
    "worker": (
        "celery.app.log",
        "celery.apps.worker",
        "celery.bin.worker",
        "celery.concurrency.thread",
        "celery.fixups.django",
        "celery.worker.autoscale",
        "celery.worker.components",
        "celery.worker.consumer.delayed_delivery",
        "kombu.transport.redis",
        "symposia.agents.reviewers.documents",
        "symposia.agents.reviewers.judge",
        "symposia.client.steps.celery_tasks",
        "symposia.tasks.celery_tasks",
        "symposia.workers.logs",
        "symposia.workers.worker_app",
    ),
    "beat": ("celery.apps.beat", "celery.bin.beat", "symposia.workers.beat.beat"),
    "flower": ("flower.command", "symposia.dashboard.installer", "symposia.workers.dashboard"),
    "http": (
        "symposia.cli.app",
        "symposia.cli.operations.http",
        "symposia.web.mcp.mount",
        "symposia.web.server",
        "uvicorn.lifespan.on",
        "uvicorn.loops.auto",
        "uvicorn.protocols.http.auto",
    ),
    "archive": (
        "sqlalchemy.dialects.sqlite",
        "symposia.archive.sessions.reader",
        "symposia.archive.sessions.writer",
    ),
}


def modules_of(**optional: bool) -> list[str]:
    """Return the modules of all services, without those of the optional ones that do not run."""
    return [name for service, names in _MODULES.items() if optional.get(service, True) for name in names]

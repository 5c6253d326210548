"""Celery apps that deliver badly, for `celery -A live_apps:NAME worker`."""

from __future__ import annotations

import dataclasses
from collections.abc import Sequence

from symposia.config.settings import load_settings
from symposia.tasks.graph import TaskGraph, TurnCall
from symposia.tasks.runtime import install
from symposia.workers.connection import redis_url_in_use
from symposia.workers.making import create_app
from symposia.workers.runtime import build_runtime, per_process


class EverythingTwice(TaskGraph):
    """Sends each turn twice, so that two threads or workers begin it at the same time."""

    def send_turns(self, calls: Sequence[TurnCall], *, parent: str) -> None:
        super().send_turns(calls, parent=parent)
        super().send_turns(calls, parent=parent)

    def send_advance(self, session_id: str, *, first: bool = False) -> None:
        super().send_advance(session_id, first=first)
        super().send_advance(session_id)


settings = load_settings()
twice = create_app(settings)


def _runtime():
    runtime = build_runtime(twice, settings, redis_url=redis_url_in_use(settings))
    return dataclasses.replace(runtime, graph=EverythingTwice(twice))


install(twice, per_process(_runtime))

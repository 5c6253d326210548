"""A listener for the events of workers and clients, as Flower is one."""

from __future__ import annotations

from threading import Thread
from typing import Any

from celery import Celery

from scaling import patient


class Monitor(Thread):
    """Hears every event of workers and of clients, as Flower does, until it is closed."""

    def __init__(self, app: Celery) -> None:
        super().__init__(daemon=True)
        self.heard: list[dict[str, Any]] = []
        self.alone: list[dict[str, Any]] = []
        self._app = app
        self._receiver: Any = None

    def run(self) -> None:
        with self._app.connection_for_read() as connection:
            self._receiver = self._app.events.Receiver(connection, handlers={"*": self.heard.append})
            usual = self._receiver._receive
            self._receiver._receive = lambda body, message: (self._note(body), usual(body, message))
            self._receiver.capture(timeout=patient(60), wakeup=False)

    def _note(self, body: Any) -> None:
        if isinstance(body, dict):
            self.alone.append(body)

    def close(self) -> None:
        self._receiver.should_stop = True
        self.join(patient(10))

    def told(self, kind: str) -> dict[str, dict[str, Any]]:
        return {event["uuid"]: event for event in list(self.heard) if event["type"] == kind}

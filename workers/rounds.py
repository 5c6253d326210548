"""A thread of a worker that does something again and again; Redis being away only delays it."""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from celery import Celery, bootsteps
from redis.exceptions import RedisError

from ..tasks.graph import BrokerAway

log = logging.getLogger(__name__)


class RoundThread(threading.Thread):
    """Calls `turn` at once, then every `interval_s` seconds, until `close`.

    Args:
        what: what it does, for the log and the thread's name.
        turn: what is done each time; it may raise.
        interval_s: seconds from the end of one to the next.
    """

    def __init__(self, what: str, turn: Callable[[], object], *, interval_s: float) -> None:
        super().__init__(name=f"symposia-{what}", daemon=True)
        self._what = what
        self._turn = turn
        self._interval_s = interval_s
        self._closed = threading.Event()

    def run(self) -> None:
        """Goes on until `close`."""
        while True:
            try:
                self._turn()
            except (RedisError, OSError) as error:
                log.warning("%s put off: %s", self._what, error)
            except Exception:
                log.exception("%s failed; it will be tried again", self._what)
            if self._closed.wait(self._interval_s):
                return

    def close(self) -> None:
        """Ends the thread after what it does now."""
        self._closed.set()


class RoundStep(bootsteps.StartStopStep):
    """Part of a worker: a round thread for as long as it runs. Those that are of one kind say what and how."""

    requires = ("celery.worker.components:Pool",)
    #: What is done, for the log and the thread's name.
    what: ClassVar[str]

    def __init__(self, _worker: Any, **_options: Any) -> None:
        self._thread: RoundThread | None = None

    @abstractmethod
    def turn(self, app: Celery) -> object:
        """What is done each time; it may raise."""

    def start(self, worker: Any) -> None:
        """The pool is there: what is sent can run."""

        def turn() -> None:
            try:
                self.turn(worker.app)
            except BrokerAway as error:
                raise OSError(f"the broker does not answer: {error}") from error

        interval_s: float = worker.app.conf.symposia_sweep_interval_s
        self._thread = RoundThread(self.what, turn, interval_s=interval_s)
        self._thread.start()

    def stop(self, _worker: Any) -> None:
        """Nothing new is begun."""
        if self._thread is not None:
            self._thread.close()

    def terminate(self, worker: Any) -> None:
        """The same in a cold shutdown."""
        self.stop(worker)

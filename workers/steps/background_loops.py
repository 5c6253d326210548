"""Bootsteps of a worker: the first one builds the runtime, and the base class of all others runs a background loop in a thread."""

from __future__ import annotations

import logging
import threading
from abc import abstractmethod
from collections.abc import Callable
from typing import Any, ClassVar

from celery import bootsteps
from redis.exceptions import RedisError

from ...models.errors import SymposiaError
from ...tasks.runtime.graph import BrokerConnectionError
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


class BackgroundLoop(threading.Thread):
    """Calls `turn` at once, then every `interval_s` seconds, until `close`; Redis being away only delays it.

    Args:
        what: what it does, for the log and the thread's name.
        turn: what is done each time; it may raise.
        interval_s: seconds from the end of one to the next.
        leave: what is done once at the end.
    """

    def __init__(
        self,
        what: str,
        turn: Callable[[], object],
        *,
        interval_s: float,
        leave: Callable[[], object] = lambda: None,
    ) -> None:
        super().__init__(name=f"symposia-{what}", daemon=True)
        self._what = what
        self._turn = turn
        self._leave = leave
        self._interval_s = interval_s
        self._closed = threading.Event()

    def run(self) -> None:
        """Run until `close`."""
        self._attempt(self._turn)
        while not self._closed.wait(self._interval_s):
            self._attempt(self._turn)
        self._attempt(self._leave)

    def _attempt(self, action: Callable[[], object]) -> None:
        try:
            action()
        except (RedisError, OSError, BrokerConnectionError) as error:
            log.warning("%s failed, will retry: %s", self._what, error)
        except Exception:
            log.exception("%s failed, will retry", self._what)

    def close(self) -> None:
        """End the thread after its current round."""
        self._closed.set()


class LoopStep(bootsteps.StartStopStep):
    """Bootstep that runs a round thread while the worker runs; subclasses define the work.

    It begins when the pool and the runtime are there, so that what is sent can run, and ends when a shutdown
    begins: turns under way still commit, but nothing new is begun. Another worker, or the next start, looks again.
    """

    requires = (RuntimeStep,)
    #: What is done, for the log and the thread's name.
    what: ClassVar[str]

    def __init__(self, _worker: Any, **_options: Any) -> None:
        self._thread: BackgroundLoop | None = None

    @abstractmethod
    def make_thread(self, worker: Any) -> BackgroundLoop | None:
        """Return the thread of this worker, not started yet; None if there is nothing to do."""

    def sweep_interval_thread(self, worker: Any, turn: Callable[[], object]) -> BackgroundLoop:
        """Return a thread with the interval of the sweep."""
        return BackgroundLoop(self.what, turn, interval_s=worker.app.conf.symposia_sweep_interval_s)

    def start(self, worker: Any) -> None:
        """Start the thread."""
        self._thread = self.make_thread(worker)
        if self._thread is not None:
            self._thread.start()

    def stop(self, _worker: Any) -> None:
        """Stop the thread after its current round."""
        if self._thread is not None:
            self._thread.close()

    def terminate(self, worker: Any) -> None:
        """Stop the thread in a cold shutdown too."""
        self.stop(worker)

"""Worker processes that are killed and restarted, as by a supervisor."""

from __future__ import annotations

import os
import signal
import threading
import time
from collections.abc import Mapping, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from pathlib import Path

from chaos.machinery.spawning import from_the_staying_thread
from chaos.machinery.wire import Wire
from live import LiveWorker, until

_ENDING = (signal.SIGTERM, signal.SIGQUIT, signal.SIGKILL)
#: Between two looks at who has died.
_LOOK_S = 0.05


@dataclass
class Member:
    """A place in the crew: successive workers with one wire."""

    name: str
    wire: Wire
    options: tuple[str, ...] = ()
    #: Added to the environment of its workers.
    environment: Mapping[str, str] = field(default_factory=dict)
    #: Folders with code that only it has.
    path: tuple[Path, ...] = ()
    worker: LiveWorker | None = None
    #: How many workers it has had.
    lives: int = 0
    #: How many of them have come to their end, or were asked to.
    _asked_to_end: int = 0

    @property
    def pid(self) -> int:
        """Of the worker's main process, which is also its group."""
        assert self.worker is not None
        return self.worker.process.pid

    @property
    def is_alive(self) -> bool:
        """Its process runs; it may be frozen."""
        return self.worker is not None and self.worker.process.poll() is None

    def signal(self, number: signal.Signals, *, group: bool = True) -> None:
        """To the worker with its pool children, or to its main process alone."""
        if number in _ENDING:
            self._asked_to_end = self.lives
        with suppress(ProcessLookupError):
            (os.killpg if group else os.kill)(self.pid, number)

    def wait_ready(self) -> None:
        """Wait until the worker of this place takes turns."""
        until(self._is_ready, timeout_s=60, what=self.name)

    def wait_reborn(self, lives: int) -> None:
        """Until it has had more workers than `lives`, and the newest takes turns."""
        until(lambda: self.lives > lives, timeout_s=60, what=f"{self.name} is started again")
        self.wait_ready()

    def _is_ready(self) -> bool:
        goes_on = self.lives > self._asked_to_end  # one that is stopping says that it was ready
        return goes_on and self.worker is not None and "ready." in self.worker.log()


class Crew:
    """The workers of an arena and their supervisor."""

    def __init__(self, folder: Path, environment: Mapping[str, str], *, concurrency: int = 4) -> None:
        self.members: list[Member] = []
        self._folder = folder
        self._environment = dict(environment)
        self._concurrency = concurrency
        self._closed = threading.Event()
        self._lock = threading.Lock()
        self._watch = threading.Thread(target=self._look_after, name="chaos-crew", daemon=True)

    def start(self, members: Sequence[Member]) -> None:
        """Starts them and from then on looks after them; waits until all take turns."""
        self.members += members
        for member in members:
            self._launch(member)
        if not self._watch.is_alive():
            self._watch.start()
        for member in members:
            member.wait_ready()

    def wait_ready(self) -> None:
        """Until every place has a worker that takes turns."""
        until(lambda: all(member.is_alive for member in self.members), timeout_s=60, what="all are back")
        for member in self.members:
            member.wait_ready()

    def logs(self) -> str:
        """What all workers so far have logged."""
        return "\n".join(file.read_text(errors="replace") for file in sorted(self._folder.glob("w*.log")))

    def close(self) -> None:
        """Stop all workers without a restart."""
        self._closed.set()
        with self._lock:
            for member in self.members:
                if member.is_alive:
                    member.signal(signal.SIGKILL)
        for member in self.members:
            if member.worker is not None:
                member.worker.close()

    def _look_after(self) -> None:
        while not self._closed.is_set():
            for member in self.members:
                if not member.is_alive:
                    with self._lock:
                        if not self._closed.is_set():
                            self._launch(member)
            time.sleep(_LOOK_S)

    def _launch(self, member: Member) -> None:
        if member.worker is not None:
            member.signal(signal.SIGKILL)  # what its main process left behind
            member.worker.close()
        environment = {**self._environment, **member.environment, "SYMPOSIA_REDIS_URL": member.wire.url}
        member.worker = from_the_staying_thread(
            lambda: LiveWorker(
                f"{member.name}-{member.lives + 1}",
                self._folder,
                environment,
                app="chaos.worker.apps",
                concurrency=self._concurrency,
                options=member.options,
                path=member.path,
                as_installed=bool(member.path),  # Python reads `sitecustomize` only when it starts
            )
        )
        member.lives += 1

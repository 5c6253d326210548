"""Supervisor of services: starts, restarts and stops them; signals that interrupt it, and the shutdown flag.

All work happens in the calling thread, which must call `check_services` regularly. A separate thread is not
possible, because the kernel ends a bound child with the thread that started it.
"""

from __future__ import annotations

import signal
import sys
import threading
import time
from collections.abc import Callable, Sequence
from contextlib import ExitStack
from dataclasses import dataclass, field
from functools import partial
from types import CodeType, FrameType
from typing import Protocol, Self

from ...agents.programs.process import hide_environment
from ...models.errors import ServiceEnded, SymposiaError


class ShutdownFlag:
    """Shutdown flag: shut down at once (second signal).

    It has no lock, unlike `threading.Event`: the code that the signal interrupts could hold that lock.
    """

    def __init__(self) -> None:
        self._is_set = False

    def set(self) -> None:
        """Request an immediate shutdown."""
        self._is_set = True

    def is_set(self) -> bool:
        """Return whether an immediate shutdown was requested."""
        return self._is_set


#: Seconds before a service that ended is restarted, doubled each time it ends soon after its start.
FIRST_DELAY_S = 0.5
MAX_DELAY_S = 30.0
#: Seconds after which the next end of a service counts as a new failure.
STABLE_AFTER_S = 60.0

_LOOK_EVERY_S = 0.25
#: Seconds after which an interrupt is sent again because it could not be raised where it arrived.
_AGAIN_S = 0.05
_SIGNALS = (signal.SIGINT, signal.SIGTERM, signal.SIGHUP)


class SupervisedService(Protocol):
    """Service that runs beside this process."""

    @property
    def name(self) -> str:
        """Return its name in messages."""
        ...

    def start(self) -> None:
        """Start or restart it. Raises SymposiaError if that fails."""
        ...

    def exit_reason(self) -> str | None:
        """Return why it does not run; None if it runs."""
        ...

    def stop(self, shutdown_flag: ShutdownFlag) -> None:
        """Stop it and wait for its end; kill it as soon as `shutdown_flag` is set."""
        ...


class RestartableService(SupervisedService, Protocol):
    """Service that can be asked to end after its current work."""

    def request_stop(self) -> None:
        """Ask it to end, without waiting."""
        ...


class Interrupts:
    """Signals that ask this process to stop, while the context lasts.

    The first signal raises KeyboardInterrupt in the main thread. After that, or after `disarm`,
    signals only set `shutdown_flag`: the shutdown is not interrupted, but it is shortened.

    Args:
        signals: The signals.
        urgent: Signals that set `shutdown_flag` after the first one; SIGQUIT in it also sets it as the first.
    """

    def __init__(
        self, *, signals: Sequence[signal.Signals] = _SIGNALS, urgent: Sequence[signal.Signals] = _SIGNALS
    ) -> None:
        self._signals = signals
        self._urgent = urgent
        self.shutdown_flag = ShutdownFlag()
        self._armed = True
        #: True if a signal arrived where an exception would have been lost.
        self._is_pending = False
        self._restore = ExitStack()
        #: The handlers before.
        self._replaced: dict[int, object] = {}

    def disarm(self) -> None:
        """Let later signals only set `shutdown_flag`."""
        self._armed = False

    def __enter__(self) -> Self:
        for number in self._signals:
            replaced = self._replaced[number] = signal.signal(number, self._on_signal)
            self._restore.callback(signal.signal, number, replaced)
        self._restore.callback(setattr, sys, "unraisablehook", sys.unraisablehook)
        sys.unraisablehook = partial(self._on_unraisable, sys.unraisablehook)
        return self

    def __exit__(self, *_: object) -> None:
        self._restore.close()

    def _on_signal(self, number: int, frame: FrameType | None) -> None:
        if number in self._urgent and (not self._armed or number == signal.SIGQUIT):
            self.shutdown_flag.set()
        if not self._armed:
            return
        if _is_in(Interrupts._on_unraisable.__code__, frame):
            self._is_pending = True
        else:
            self._armed = False
            replaced = self._replaced.get(number)
            if number == signal.SIGINT and callable(replaced):
                # That of the command line notes the interrupt, which may become another exception.
                replaced(number, frame)
            raise KeyboardInterrupt

    def _on_unraisable(
        self, others: Callable[[sys.UnraisableHookArgs], object], unraisable: sys.UnraisableHookArgs
    ) -> None:
        if isinstance(unraisable.exc_value, KeyboardInterrupt):
            # The signal arrived inside a finalizer, which cannot raise.
            self._armed = self._is_pending = True
        else:
            others(unraisable)
        # This hook cannot raise either: a signal that arrives during the loop repeats it.
        while self._is_pending:
            self._is_pending = False
            again = threading.Timer(
                _AGAIN_S, signal.pthread_kill, (threading.main_thread().ident, signal.SIGINT)
            )
            again.daemon = True
            again.start()


def _is_in(code: CodeType, frame: FrameType | None) -> bool:
    """Return whether the frame or one of its callers runs this code."""
    while frame is not None and frame.f_code is not code:
        frame = frame.f_back
    return frame is not None


@dataclass(slots=True)
class Backoff:
    """Delay before a service is restarted."""

    #: Number of times in a row that the service ended soon after its start.
    failures: int = 0

    def delay_s(self, *, lived_s: float) -> float:
        """Return the seconds to wait after the service ran for `lived_s` seconds."""
        self.failures = 1 if lived_s > STABLE_AFTER_S else self.failures + 1
        return min(FIRST_DELAY_S * 2.0 ** min(self.failures - 1, 60), MAX_DELAY_S)


@dataclass(slots=True)
class _ServiceState:
    """Service with the time of its next restart."""

    service: SupervisedService
    started_at: float = 0.0
    #: `time.monotonic()` of the restart; None: the service runs, as far as known.
    restart_at: float | None = None
    backoff: Backoff = field(default_factory=Backoff)
    #: True: it was asked to end, and is started again at once when it has.
    is_restarting: bool = False

    def schedule_restart(self) -> float:
        """Record the end of the service, and return the seconds until its restart."""
        now = time.monotonic()
        delay_s = self.backoff.delay_s(lived_s=now - self.started_at)
        self.restart_at = now + delay_s
        return delay_s


class Supervisor:
    """Context manager that starts services in order and stops them in reverse order.

    Args:
        services: Services, in the order of their start.
        interrupts: Interrupts of this process; they do not interrupt the shutdown.
        say: Callback for one line about each service that ended and its restart.
        gives_up_after: Number of failures in a row after which ServiceEnded is raised; None: no limit.
    """

    def __init__(
        self,
        services: Sequence[SupervisedService],
        *,
        interrupts: Interrupts,
        say: Callable[[str], None],
        gives_up_after: int | None = None,
    ) -> None:
        self._states = [_ServiceState(service) for service in services]
        self._interrupts = interrupts
        self._say = say
        self._gives_up_after = gives_up_after
        self._next_look = 0.0

    def __enter__(self) -> Self:
        hide_environment()
        try:
            for kept in self._states:
                self._start(kept)
        except BaseException:
            self._stop_all()
            raise
        return self

    def __exit__(self, *_: object) -> None:
        self._stop_all()

    def add_service(self, service: SupervisedService) -> None:
        """Start one more service."""
        self._states.append(kept := _ServiceState(service))
        self._start(kept)

    def restart(self, services: Sequence[RestartableService]) -> None:
        """Ask services to end after their current work; `check_services` starts each again once it has ended."""
        for service in services:
            kept = next(state for state in self._states if state.service is service)
            if kept.restart_at is not None:  # it has ended by itself
                kept.restart_at = time.monotonic()
            elif not kept.is_restarting:
                kept.is_restarting = True
                service.request_stop()

    def check_services(self) -> None:
        """Restart services that ended, after their delay; return at once if the last check is recent.

        Raises:
            ServiceEnded: A service ended too often.
        """
        if time.monotonic() < self._next_look:
            return
        self._next_look = time.monotonic() + _LOOK_EVERY_S
        for kept in self._states:
            if kept.restart_at is not None:
                if time.monotonic() >= kept.restart_at:
                    self._restart(kept)
            elif (why := kept.service.exit_reason()) is not None:
                if kept.is_restarting:
                    self._restart(kept)
                else:
                    self._delay_restart(kept, why)

    def _restart(self, kept: _ServiceState) -> None:
        try:
            self._start(kept)
        except SymposiaError as error:
            self._delay_restart(kept, str(error))

    def _delay_restart(self, kept: _ServiceState, why: str) -> None:
        name, delay_s = kept.service.name, kept.schedule_restart()
        if self._gives_up_after is not None and kept.backoff.failures >= self._gives_up_after:
            raise ServiceEnded(f"{name} failed {kept.backoff.failures} times in a row: {why}")
        self._say(f"{name}: {why}; restarting in {delay_s:g} s")

    def _start(self, kept: _ServiceState) -> None:
        kept.started_at, kept.restart_at, kept.is_restarting = time.monotonic(), None, False
        kept.service.start()

    def _stop_all(self) -> None:
        self._interrupts.disarm()
        for kept in reversed(self._states):
            kept.service.stop(self._interrupts.shutdown_flag)

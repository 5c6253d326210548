"""Renewal of the leases of this process's turns: one thread for all of them.

A turn shorter than a third of the lease needs no renewal. A renewal is refused if another worker has the
turn, the turn was dropped, or its session has ended. Then its agent is cancelled, because its output would be
discarded. The lease is also renewed before the agent runs: creating the first one of a kind may import large libraries.
"""

from __future__ import annotations

import logging
import threading
import time
from collections.abc import Callable, Iterator
from contextlib import contextmanager

from ...models.errors import StateError
from ...state.log_context import log_context
from ...state.sessions.records import Grant
from ...state.sessions.store import SessionStore

log = logging.getLogger(__name__)


class RenewedLease:
    """A lease that is renewed until its block ends or it is lost."""

    def __init__(self, session_id: str, grant: Grant, renew_at: float) -> None:
        self.session_id = session_id
        self.grant = grant
        #: Time of the next renewal, by `time.monotonic()`.
        self.renew_at = renew_at
        self._lock = threading.Lock()
        self._is_lost = False
        self._cancel: Callable[[], None] | None = None

    @contextmanager
    def cancel_when_lost(self, cancel: Callable[[], None]) -> Iterator[None]:
        """Call `cancel` if the lease is lost while the block runs; at once if it is lost already."""
        with self._lock:
            self._cancel, is_lost = cancel, self._is_lost
        try:
            if is_lost:
                cancel()
            yield
        finally:
            with self._lock:
                self._cancel = None

    def report_lost(self) -> None:
        """Cancel what runs now, and what runs later."""
        with self._lock:
            self._is_lost, cancel = True, self._cancel
        if cancel is not None:
            cancel()


class LeaseRenewer:
    """Renewer of leases: every third of the lease, in a daemon thread that runs while there are turns."""

    def __init__(self, store: SessionStore, *, lease_ms: int) -> None:
        self._store = store
        self._lease_ms = lease_ms
        self._every_s = lease_ms / 3000
        self._held: dict[str, RenewedLease] = {}
        self._is_over = threading.Event()
        self._lock = threading.Lock()
        self._thread: threading.Thread | None = None

    @contextmanager
    def keep_renewed(self, session_id: str, grant: Grant) -> Iterator[RenewedLease]:
        """Renew the grant's lease while the block runs."""
        entry = RenewedLease(session_id, grant, time.monotonic() + self._every_s)
        with self._lock:
            in_vain = self._is_over.is_set()
            if not in_vain:
                self._held[grant.token] = entry
                self._start_renewing()
        try:
            if in_vain:
                entry.report_lost()
            yield entry
        finally:
            with self._lock:
                self._held.pop(grant.token, None)

    def cancel_all(self) -> None:
        """Cancel all current and future turns of a worker that must end; other workers take them over."""
        with self._lock:
            self._is_over.set()
            held = list(self._held.values())
            self._held.clear()
        for entry in held:
            entry.report_lost()

    def _start_renewing(self) -> None:
        if self._thread is None:
            self._thread = threading.Thread(target=self._run, name="symposia-leases", daemon=True)
            self._thread.start()

    def _run(self) -> None:
        while True:
            self._is_over.wait(self._every_s / 4)
            now = time.monotonic()
            with self._lock:
                if not self._held:
                    self._thread = None
                    return
                due = [entry for entry in self._held.values() if entry.renew_at <= now]
            for entry in due:
                with log_context(entry.session_id, entry.grant.number, attempt=entry.grant.grants):
                    self._renew(entry)

    def _renew(self, entry: RenewedLease) -> None:
        try:
            renewed = self._store.renew(entry.session_id, entry.grant, lease_ms=self._lease_ms)
        except StateError as error:
            # The lease may still be valid when Redis is back; the commit decides.
            log.warning("renewing the lease of turn %s failed: %s", entry.grant.number, error)
            return
        except Exception:
            # All leases of this process depend on this thread, so it survives any exception.
            log.exception("renewing the lease of turn %s failed", entry.grant.number)
            return
        if renewed:
            entry.renew_at = time.monotonic() + self._every_s
            return
        with self._lock:
            was_held = self._held.pop(entry.grant.token, None) is not None
        if was_held:
            entry.report_lost()

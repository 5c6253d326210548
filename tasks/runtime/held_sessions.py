"""Sessions that a process of a worker works on, reported so that their turns are taken over if the process is lost."""

from __future__ import annotations

from collections.abc import Callable
from contextlib import AbstractContextManager, nullcontext
from typing import Protocol

from celery import Celery


class HeldSessions(Protocol):
    """Report of the sessions that this process works on."""

    @property
    def process(self) -> str:
        """Return the id of this process, different for each start; empty: its end is not noticed."""
        ...

    def hold(self, session_id: str) -> AbstractContextManager[object]:
        """Report that this process works on the session while the block runs."""
        ...

    def keep_all(self) -> None:
        """Report no end of work any more: other workers take over the sessions when this process has ended."""
        ...


class NoHeldSessions:
    """Report of a process that is no worker: its turns are taken over when their leases expire."""

    process = ""

    def hold(self, session_id: str) -> AbstractContextManager[object]:  # noqa: ARG002 - part of the protocol
        """Report nothing."""
        return nullcontext()

    def keep_all(self) -> None:
        """Report nothing."""


_ATTRIBUTE = "symposia_held_sessions"


def install_held_sessions(app: Celery, provider: Callable[[], HeldSessions]) -> None:
    """Set the provider of the report for the tasks of an app; each process has its own report."""
    setattr(app, _ATTRIBUTE, provider)


def held_sessions_of(app: Celery | None) -> HeldSessions:
    """Return the report of this process."""
    provider: Callable[[], HeldSessions] = getattr(app, _ATTRIBUTE, NoHeldSessions)
    return provider()

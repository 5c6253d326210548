"""Database connections of Django around the code of agents, as around a request of Django and a task of Celery.

Django keeps a connection for each thread, and finds out that it is broken or too old only when asked. Agents run in threads
that neither Django nor Celery knows. Asynchronous agents use the database, and other blocking code, through asgiref's
`sync_to_async`. Nothing is imported here: without Django and asgiref in the process, this costs one lookup.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager
from typing import Any

log = logging.getLogger(__name__)


@contextmanager
def fresh_connections() -> Iterator[None]:
    """Close broken and old connections of this thread before and after the block."""
    database = _find_database()
    if database is None:
        yield
        return
    _run_logged(database.close_old_connections)
    try:
        yield
    finally:
        _run_logged(database.close_old_connections)


@asynccontextmanager
async def own_thread_for_blocking_calls() -> AsyncIterator[None]:
    """Run the calls of `sync_to_async` in a thread of this turn, and close the connections of the thread at the end.

    All asynchronous code of a process has one thread otherwise: the calls of all turns would run one after the other.
    """
    asgiref: Any = sys.modules.get("asgiref.sync")
    if not hasattr(asgiref, "ThreadSensitiveContext"):  # not in use, or in its import
        yield
        return
    async with asgiref.ThreadSensitiveContext() as context:
        try:
            yield
        finally:
            # Before the context does so: it would block the event loop until a call that runs has returned.
            executor = getattr(asgiref.SyncToAsync, "context_to_thread_executor", {}).pop(context, None)
            if executor is not None:
                if (database := _find_database()) is not None:
                    executor.submit(_run_logged, database.connections.close_all)
                executor.shutdown(wait=False)


def _find_database() -> Any:
    """Return the database layer of Django; None if the process does not use it."""
    database, configuration = sys.modules.get("django.db"), sys.modules.get("django.conf")
    if database is None or configuration is None or not configuration.settings.configured:
        return None
    return database if hasattr(database, "close_old_connections") else None  # not in its import


def _run_logged(close: Callable[[], None]) -> None:
    try:
        close()
    except Exception as error:  # noqa: BLE001 - of a database driver
        log.warning("closing database connections failed: %s", type(error).__name__)

"""Database connections of Django around the code of agents, as around a request of Django and a task of Celery.

Django keeps a connection for each thread, and finds out that it is broken or too old only when asked. Agents run in threads
that neither Django nor Celery knows. Nothing is imported here: without Django in the process, this costs one lookup.
"""

from __future__ import annotations

import logging
import sys
from collections.abc import AsyncIterator, Callable, Iterator
from contextlib import asynccontextmanager, contextmanager

log = logging.getLogger(__name__)


@contextmanager
def fresh_connections() -> Iterator[None]:
    """Close broken and old connections of this thread before and after the block."""
    close = _find_close()
    if close is None:
        yield
        return
    _run_logged(close)
    try:
        yield
    finally:
        _run_logged(close)


@asynccontextmanager
async def fresh_async_connections() -> AsyncIterator[None]:
    """Close broken and old connections of the thread in which asynchronous code uses the database."""
    close = _find_close()
    if close is None:
        yield
        return
    from asgiref.sync import sync_to_async

    close_there = sync_to_async(_run_logged)
    await close_there(close)
    try:
        yield
    finally:
        await close_there(close)


def _find_close() -> Callable[[], None] | None:
    """Return `close_old_connections` of Django; None if the process does not use its database layer."""
    database, configuration = sys.modules.get("django.db"), sys.modules.get("django.conf")
    if database is None or configuration is None or not configuration.settings.configured:
        return None
    close: Callable[[], None] | None = getattr(database, "close_old_connections", None)  # None: in its import
    return close


def _run_logged(close: Callable[[], None]) -> None:
    try:
        close()
    except Exception as error:  # noqa: BLE001 - of a database driver
        log.warning("closing old database connections failed: %s", type(error).__name__)

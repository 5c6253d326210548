"""Sessions of a Celery app with `task_always_eager`: they run in this process, without a broker, workers or a Redis.

Such an app runs its tasks where they are sent, mostly in tests. So `submit` of a client with this app returns when the
session has ended, or when a person is asked: `reply` then continues it in threads of this process. All clients with the same
app share an embedded server, so any of them finds the sessions of the others.
"""

from __future__ import annotations

import atexit
import weakref
from threading import Lock
from typing import TYPE_CHECKING

from ...config.settings import Settings
from .client import LocalClient

if TYPE_CHECKING:
    from celery import Celery

#: Settings of servers, which the process does not use, and of files that it must not change.
_REPLACED = {"redis_url", "broker_url", "database_url", "memory_redis_url", "data_dir", "archive"}

_clients: weakref.WeakKeyDictionary[Celery, LocalClient] = weakref.WeakKeyDictionary()
_lock = Lock()


def eager_client(app: Celery, settings: Settings) -> LocalClient:
    """Return the client that runs the sessions of an eager app; it is closed with the app, or with the process.

    Raises:
        EmbeddedServerError: The server cannot be started.
        RegistryError: The agents file breaks a rule.
    """
    with _lock:
        client = _clients.get(app)
        if client is None:
            chosen = {name: value for name, value in settings if name not in _REPLACED}
            client = _clients[app] = LocalClient(**chosen, memory_redis_url=None)
            close = weakref.finalize(app, client.close)
            close.atexit = False
            atexit.register(close)  # before the server ends, which has registered itself earlier
    return client


def close_eager_client(app: Celery) -> None:
    """Cancel the sessions of an eager app, and end its server; a later `submit` starts another one."""
    with _lock:
        client = _clients.pop(app, None)
    if client is not None:
        client.close()

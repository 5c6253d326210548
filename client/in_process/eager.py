"""Sessions of a Celery app with `task_always_eager`: they run in this process, without a broker, workers or a Redis.

Such an app runs its tasks where they are sent, mostly in tests. So `submit` of a client with this app returns when the
session has ended, or when a person is asked: `reply` then continues it in threads of this process. All clients with the same
app share an embedded server, so any of them finds the sessions of the others. Its files are in a temporary folder.
"""

from __future__ import annotations

import atexit
import weakref
from threading import Lock
from typing import TYPE_CHECKING

from ...config.settings import Settings
from .installation import InProcessInstallation

if TYPE_CHECKING:
    from celery import Celery

#: Settings of servers, which the process does not use, and of files that it must not change.
_REPLACED = {"redis_url", "broker_url", "database_url", "memory_redis_url", "data_dir", "archive"}

_installations: weakref.WeakKeyDictionary[Celery, InProcessInstallation] = weakref.WeakKeyDictionary()
_lock = Lock()


def eager_installation(app: Celery, settings: Settings) -> InProcessInstallation:
    """Return what runs the sessions of an eager app; it is closed with the app, or with the process.

    Raises:
        EmbeddedServerError: The server cannot be started.
        RegistryError: The agents file breaks a rule.
    """
    with _lock:
        installation = _installations.get(app)
        if installation is None:
            chosen = {name: value for name, value in settings if name not in _REPLACED}
            installation = InProcessInstallation({}, **chosen, memory_redis_url=None)
            _installations[app] = installation
            close = weakref.finalize(app, installation.close)
            close.atexit = False
            atexit.register(close)  # before the server ends, which has registered itself earlier
    return installation


def close_eager_installation(app: Celery) -> None:
    """Cancel the sessions of an eager app, and end its server; a later `submit` starts another one."""
    with _lock:
        installation = _installations.pop(app, None)
    if installation is not None:
        installation.close()

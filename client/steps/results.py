"""The result backend as steps use it: if it does not answer, the result is stored later, and the step does not fail."""

from __future__ import annotations

import logging
from collections.abc import Callable
from typing import Any

from kombu.exceptions import EncodeError

log = logging.getLogger(__name__)

_UNSTORED = "symposia_unstored"


class RetriedBackend:
    """A result backend whose errors at the end of a step do not reach Celery, which would fail the task with them.

    The step is not over then: a sweep sends its message again.
    """

    def __init__(self, backend: Any, request: Any) -> None:
        self._backend = backend
        self._request = request

    def __getattr__(self, name: str) -> Any:
        if name.startswith("__") or name == "_backend":  # of an object that is being copied or unpickled
            raise AttributeError(name)
        return getattr(self._backend, name)

    def __reduce__(self) -> Any:
        return self._backend.__reduce__()

    def mark_as_done(self, *args: Any, **kwargs: Any) -> Any:
        """Store a result, and count the part of a chord."""
        return self._attempt(self._backend.mark_as_done, *args, **kwargs)

    def mark_as_failure(self, *args: Any, **kwargs: Any) -> Any:
        """Store a failure, and send the error links."""
        return self._attempt(self._backend.mark_as_failure, *args, **kwargs)

    def mark_as_retry(self, *args: Any, **kwargs: Any) -> Any:
        """Store that a step is retried; the next attempt does not need it."""
        try:
            return self._backend.mark_as_retry(*args, **kwargs)
        except Exception as error:  # noqa: BLE001 - each result backend has its own errors
            log.warning("state of step %s not stored: %s", self._request.id, error)
            return None

    def _attempt(self, store: Callable[..., Any], *args: Any, **kwargs: Any) -> Any:
        try:
            return store(*args, **kwargs)
        except (EncodeError, TypeError, ValueError):  # the same each time
            raise
        except Exception as error:  # noqa: BLE001 - each result backend has its own errors
            log.warning("result of step %s not stored, will retry: %s", self._request.id, error)
            setattr(self._request, _UNSTORED, True)
            return None


def is_stored(request: Any) -> bool:
    """Return whether no attempt to store the result of this run has failed."""
    return not getattr(request, _UNSTORED, False)

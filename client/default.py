"""`submit` and `get_job` of the package: verbs of the client of this process's own settings."""

from __future__ import annotations

import inspect
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import Concatenate, ParamSpec, TypeVar

from ..config.settings import load_settings
from ..factories.connection import redis_url_in_use
from .client import Client

P = ParamSpec("P")
R = TypeVar("R")


def default_client() -> Client:
    """Return the client of this process's own settings; another one once another Redis is in use."""
    return _client_of(redis_url_in_use(load_settings()))


@lru_cache(maxsize=1)
def _client_of(_redis_url: str) -> Client:
    return Client()


def _of_default_client(verb: Callable[Concatenate[Client, P], R]) -> Callable[P, R]:
    """Make a function of a verb of `Client`, with its parameters and its documentation."""

    @wraps(verb)
    def call(*args: P.args, **kwargs: P.kwargs) -> R:
        return verb(default_client(), *args, **kwargs)

    shown = inspect.signature(verb)
    call.__signature__ = shown.replace(parameters=list(shown.parameters.values())[1:])  # type: ignore[attr-defined]
    call.__module__, call.__qualname__ = __name__, verb.__name__
    return call


submit = _of_default_client(Client.submit)
get_job = _of_default_client(Client.get_job)

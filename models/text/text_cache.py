"""A cache for functions of texts, which keeps no long ones. Pure."""

from __future__ import annotations

import sys
from collections.abc import Callable
from functools import lru_cache, wraps
from typing import ParamSpec, TypeVar, cast

P = ParamSpec("P")
R = TypeVar("R")

#: Maximum bytes in memory of a text that is kept.
MAX_CACHED_BYTES = 16 * 1024


def cache_texts(maxsize: int) -> Callable[[Callable[P, R]], Callable[P, R]]:
    """Return a decorator as `lru_cache`; a call with a longer text than `MAX_CACHED_BYTES` is not cached.

    Args:
        maxsize: Maximum number of calls that are kept.
    """

    def decorate(function: Callable[P, R]) -> Callable[P, R]:
        cached = cast("Callable[P, R]", lru_cache(maxsize)(function))

        @wraps(function)
        def call(*args: P.args, **kwargs: P.kwargs) -> R:
            for value in (*args, *kwargs.values()):
                if isinstance(value, str) and sys.getsizeof(value) > MAX_CACHED_BYTES:
                    return function(*args, **kwargs)
            return cached(*args, **kwargs)

        return call

    return decorate

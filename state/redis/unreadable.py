"""Stored records that cannot be read: readers of many records leave them out, and report each once."""

from __future__ import annotations

import logging
from collections.abc import Callable
from functools import lru_cache
from typing import NamedTuple, TypeVar

from redis.exceptions import ResponseError

from ...models.errors import RedisUnavailable, ServiceEnded, StateError

log = logging.getLogger(__name__)

T = TypeVar("T")

#: Errors of a record that another program or a newer version wrote. The last ones are those of conversions.
_ERRORS = (StateError, ResponseError, ValueError, TypeError, LookupError, AttributeError, ArithmeticError)


class Unreadable(NamedTuple):
    """A record that cannot be read."""

    name: str
    #: One line without the content of the record.
    why: str


def read_record(kind: str, name: str, read: Callable[[], T]) -> T | Unreadable:
    """Return what `read` returns, or why the record cannot be read, which is logged once.

    Errors that say that there is no such record, or that the server does not answer, are raised.

    Args:
        kind: Kind of the record, for the log line.
        name: Id of the record.
        read: Reads it.
    """
    try:
        return read()
    except (RedisUnavailable, ServiceEnded):
        raise
    except _ERRORS as error:
        why = (
            str(error)
            if isinstance(error, StateError)
            else f"its stored form is wrong ({type(error).__name__})"
        )
        report_unreadable(kind, name, why)
        return Unreadable(name, why)


@lru_cache(maxsize=10_000)  # the cache makes each report unique
def report_unreadable(kind: str, name: str, why: str) -> None:
    """Log a warning about a record, once in this process."""
    log.warning("leaving out %s %.200r, which is unreadable: %s", kind, name, why)

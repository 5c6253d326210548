"""Readers of the server's clock, of stored records, and of the streams of a session.

All hosts use the server's clock. A record is invalid only if another program wrote to the keys. Readers of many records
leave out those that cannot be read, and report each once.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable, Iterator, Sequence
from functools import lru_cache
from typing import Any, Literal, NamedTuple, TypeVar, cast

from pydantic import BaseModel, JsonValue, TypeAdapter, ValidationError
from redis import Redis
from redis.exceptions import ResponseError

from ...models.errors import (
    CorruptSession,
    InvalidInput,
    RedisUnavailable,
    ServiceEnded,
    SessionNotFound,
    StateError,
    invalid_input,
)
from ...models.protocol.dialog import Message
from .keys import session_key


def server_ms(client: Redis) -> int:
    """Return the server's time in milliseconds since the epoch: one round trip."""
    return time_ms(cast("Sequence[int | str]", client.time()))


def time_ms(answer: Sequence[int | str]) -> int:
    """Convert the answer of `TIME`, seconds and microseconds, to milliseconds."""
    seconds, micros = answer
    return int(seconds) * 1000 + int(micros) // 1000


def is_wrong_type(answer: object) -> bool:
    """Return whether an answer is the error of a key of another type, which another program wrote."""
    return isinstance(answer, ResponseError) and str(answer).startswith("WRONGTYPE")


M = TypeVar("M", bound=BaseModel)
T = TypeVar("T")

_OBJECT: TypeAdapter[dict[str, JsonValue]] = TypeAdapter(dict[str, JsonValue])


def read_stored(kind: type[M], text: str, *, session_id: str, part: str) -> M:
    """Return a record from its JSON; `part` names its place, e.g. `events`.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    with converting_to_corrupt(session_id, part):
        return kind.model_validate_json(text)


def read_all_stored(kind: type[M], texts: Iterable[str], *, session_id: str, part: str) -> tuple[M, ...]:
    """Return several records, as `read_stored` does."""
    with converting_to_corrupt(session_id, part):
        return tuple(kind.model_validate_json(text) for text in texts)


def read_object(text: str, *, session_id: str, part: str) -> dict[str, JsonValue]:
    """Return a JSON object; the caller checks its fields.

    Raises:
        CorruptSession: A stored record is invalid.
    """
    if text == "{}":  # such as the state of most stop conditions
        return {}
    with converting_to_corrupt(session_id, part):
        return _OBJECT.validate_json(text)


class converting_to_corrupt:  # noqa: N801 - used like a function; a generator would take three times as long
    """Convert an error about a broken rule to CorruptSession, with the place of the record.

    Raises:
        CorruptSession: The record that the block read is not valid.
    """

    __slots__ = ("_part", "_session_id")

    def __init__(self, session_id: str, part: str) -> None:
        self._session_id = session_id
        self._part = part

    def __enter__(self) -> None:
        pass

    def __exit__(self, kind: object, error: object, _traceback: object) -> None:
        if isinstance(error, ValidationError):
            error = invalid_input(error)
        if isinstance(error, InvalidInput):
            raise CorruptSession(self._session_id, part=self._part, detail=str(error)) from None


Stream = Literal["dialog", "events", "journal"]
#: (cursor, JSON)
Entry = tuple[str, str]

#: Event type of a session's last event as cjson writes it. No message text can contain it, because quotes in
#: texts are escaped.
END_MARK = '"event_type":"MAPSessionCompleted"'
#: Entries fetched in one call.
PAGE = 500


def read_entries(raw: object) -> list[Entry]:
    """Return the entries of a stream from the answer of a decoding client. Each entry has one field."""
    entries = cast("list[tuple[str, dict[str, str]]]", raw)
    return [(entry_id, next(iter(fields.values()))) for entry_id, fields in entries]


def read_batches(answer: Any) -> dict[str, list[Entry]]:
    """Convert an XREAD answer, of either protocol version: key -> entries."""
    if not answer:
        return {}
    pairs = answer.items() if isinstance(answer, dict) else answer
    batches = {}
    for key, entries in pairs:
        nested = bool(entries) and isinstance(entries[0], list)
        batches[key] = read_entries(entries[0] if nested else entries)
    return batches


def read_message(entry: Entry, session_id: str) -> Message:
    """Return the message of an entry of a dialog, with its id. Raises StoredStateInvalid as `read_stored` does."""
    entry_id, text = entry
    return read_stored(Message, text, session_id=session_id, part="dialog").with_entry_id(entry_id)


class StreamReader:
    """Reader of the dialog, the MAP events and the journal of sessions."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def page(self, session_id: str, stream: Stream, *, after: str = "0", count: int = PAGE) -> list[Entry]:
        """Return up to `count` entries after a cursor, oldest first."""
        low = "-" if after == "0" else f"({after}"
        return read_entries(self._client.xrange(session_key(session_id, stream), min=low, count=count))

    def all(self, session_id: str, stream: Stream, *, after: str = "0") -> Iterator[Entry]:
        """Yield every entry after a cursor, oldest first, read page by page."""
        while page := self.page(session_id, stream, after=after):
            yield from page
            after = page[-1][0]

    def whole(self, session_id: str, stream: Stream, *, after: str = "0") -> Iterator[Entry]:
        """Yield every entry after a cursor, oldest first.

        Raises:
            SessionNotFound: The session does not exist, or expired during the read.
        """
        yield from self.all(session_id, stream, after=after)
        if not self._client.exists(session_key(session_id, "session")):
            raise SessionNotFound(session_id)

    def newest_first(self, session_id: str, stream: Stream, *, page: int = 32) -> Iterator[Entry]:
        """Yield every entry, newest first, read on demand."""
        before: str | None = None
        while entries := self.newest_page(session_id, stream, before=before, count=page):
            yield from entries
            before = entries[-1][0]

    def newest_page(
        self, session_id: str, stream: Stream, *, before: str | None = None, count: int = PAGE
    ) -> list[Entry]:
        """Return up to `count` entries before a cursor, newest first; None: the newest ones."""
        high = "+" if before is None else f"({before}"
        return read_entries(self._client.xrevrange(session_key(session_id, stream), max=high, count=count))

    def at(self, session_id: str, stream: Stream, places: Sequence[str]) -> list[str | None]:
        """Return the entries with these cursors, in one round trip; None: there is no such entry."""
        pipe = self._client.pipeline(transaction=False)
        for entry_id in places:
            pipe.xrange(session_key(session_id, stream), min=entry_id, max=entry_id, count=1)
        answers = [read_entries(raw) for raw in (pipe.execute() if places else ())]
        return [entries[0][1] if entries else None for entries in answers]

    def length(self, session_id: str, stream: Stream) -> int:
        """Return the number of entries of a stream."""
        return int(self._client.xlen(session_key(session_id, stream)))


log = logging.getLogger(__name__)

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

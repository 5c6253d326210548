"""The newest messages of the sessions on which this process works, so that a turn reads only those after them.

A dialog only grows, so messages that were read once stay valid; the script compares the newest one with that of Redis.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Sequence
from dataclasses import dataclass
from hashlib import sha1
from typing import NoReturn

from pydantic import JsonValue

from ...models.protocol.dialog import Message
from ...models.text.ids import entry_key
from ...state.redis.readers import Entry, read_stored
from ...state.sessions.records import Grant
from ...state.sessions.requests import SeenMessage

#: Maximum characters of the messages in memory.
MAX_CHARACTERS = 8_000_000


@dataclass(frozen=True, slots=True)
class _Read:
    """A message that was read. Its JSON is kept if an agent could change it: then each turn gets an object of its own."""

    message: Message
    text: str | None
    characters: int


@dataclass(frozen=True, slots=True)
class Tail:
    """The newest messages of a dialog, oldest first."""

    newest: SeenMessage
    #: Number of messages that were asked for; fewer messages are the whole dialog.
    window: int
    messages: tuple[_Read, ...]
    characters: int


class DialogTails:
    """The newest messages of sessions, those that were used last. Safe for threads."""

    def __init__(self, *, limit: int = MAX_CHARACTERS) -> None:
        self._limit = limit
        self._tails: OrderedDict[str, Tail] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def tail(self, session_id: str, window: int) -> Tail | None:
        """Return the messages that serve a turn with a window; None: the turn must read all of its window."""
        with self._lock:
            tail = self._tails.get(session_id)
        return tail if tail is not None and 0 < window <= tail.window else None

    def read(self, session_id: str, grant: Grant, window: int, tail: Tail | None) -> tuple[Message, ...]:
        """Return the messages of a granted turn, oldest first.

        Args:
            session_id: Id of the session.
            grant: The grant, with the messages that Redis has sent.
            window: Maximum number of messages.
            tail: The messages whose newest one the claim named.

        Raises:
            CorruptSession: A stored record is invalid.
        """
        new = [_read(text, session_id) for _, text in grant.messages]
        if grant.continues and tail is not None:
            read, kept = [*tail.messages, *new][-tail.window :], tail.window
        else:
            read, kept = new, window
        if grant.messages:
            self._keep(session_id, _tail(grant.messages[-1], kept, read))
        return tuple(
            entry.message if entry.text is None else _message(entry.text, session_id)
            for entry in read[-window:]
        )

    def _keep(self, session_id: str, tail: Tail) -> None:
        with self._lock:
            before = self._tails.get(session_id)
            if before is not None and entry_key(before.newest.entry_id) > entry_key(tail.newest.entry_id):
                return  # a turn beside this one, which may see more, has read further
            self._characters += tail.characters - (before.characters if before else 0)
            self._tails[session_id] = tail
            self._tails.move_to_end(session_id)
            while self._characters > self._limit:
                self._characters -= self._tails.popitem(last=False)[1].characters


def _tail(newest: Entry, window: int, read: Sequence[_Read]) -> Tail:
    entry_id, text = newest
    seen = SeenMessage(entry_id, sha1(text.encode(), usedforsecurity=False).hexdigest())
    return Tail(seen, window, tuple(read), sum(entry.characters for entry in read))


def _read(text: str, session_id: str) -> _Read:
    message = _message(text, session_id)
    data = message.event.data if message.event is not None else None
    if message.event is not None and data is not None:
        if any(isinstance(value, dict | list) for value in data.values()):
            return _Read(message, text, len(text))
        message.event.__dict__["data"] = _ReadOnly(data)
    return _Read(message, None, len(text))


class _ReadOnly(dict[str, JsonValue]):
    """Data that all turns of this process share."""

    def _refuse(self, *_: object, **__: object) -> NoReturn:
        raise TypeError("the data of a message cannot be changed")

    def __reduce__(self) -> tuple[type[dict[str, JsonValue]], tuple[dict[str, JsonValue]]]:
        """Let copies be dictionaries that can be changed."""
        return dict, (dict(self),)

    __setitem__ = __delitem__ = clear = pop = popitem = setdefault = update = __ior__ = _refuse


def _message(text: str, session_id: str) -> Message:
    return read_stored(Message, text, session_id=session_id, part="dialog")

"""Messages that turns of a session see beside the newest of its dialog: its opening, and its history.

The history is read from earlier sessions: live ones in Redis, others in the archive. A chain of them is read only as
far as a turn's window needs it. These messages never change, so each process keeps the last used ones in memory.
"""

from __future__ import annotations

import threading
from collections import OrderedDict
from collections.abc import Callable, Iterator, Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from ...models.errors import (
    AgentFailed,
    ArchiveError,
    AttachmentUnavailable,
    SessionNotFound,
)
from ...models.modes.positions import MAX_OPENING, opening_of
from ...models.protocol.dialog import Message, Role
from ...models.sessions.spec import NO_MESSAGE, History, SessionSpec
from ...models.text.ids import entry_key
from ...state.redis.readers import Entry, StreamReader, read_all_stored, read_stored
from ...state.sessions.attachments import AttachmentStore
from ...state.sessions.store import SessionStore
from ..views.session_views import SessionFacts

if TYPE_CHECKING:
    from ...archive.sessions.reader import ArchiveReader


#: Maximum number of messages of a history that are read as a whole: the largest window of an agent.
MAX_EARLIER = 10_000

#: Maximum characters of the messages in memory.
CACHE_CHARACTERS = 32_000_000


@dataclass(frozen=True, slots=True)
class _Link:
    """The newest messages of one session of a chain."""

    #: Number of messages that were asked for.
    asked: int
    #: Newest first.
    messages: tuple[Message, ...]
    #: History of that session.
    earlier: History | None
    characters: int


def no_archive() -> ArchiveReader | None:
    """Return None: there is no archive."""
    return None


class HistoryReader:
    """Reader of the messages before those of a session's own dialog. Safe for threads."""

    def __init__(
        self,
        store: SessionStore,
        *,
        archive: Callable[[], ArchiveReader | None] = no_archive,
        limit: int = CACHE_CHARACTERS,
    ) -> None:
        self._store = store
        self._streams = StreamReader(store.client)
        self._archive = archive
        self._limit = limit
        #: By the place in a chain; the openings of the sessions that run, by their ids and times of opening.
        self._known: OrderedDict[History | tuple[str, int], _Link] = OrderedDict()
        self._characters = 0
        self._lock = threading.Lock()

    def before(self, facts: SessionFacts, count: int) -> tuple[Message, ...]:
        """Return the newest `count` messages of a session's history, oldest first.

        Raises:
            AgentFailed: The archive, which has them, does not answer; the turn is run again.
            RedisUnavailable: Redis does not answer.
        """
        history = facts.spec.history
        if history is None or count <= 0:
            return ()
        try:
            return self._newest(history, count)
        except ArchiveError as error:
            raise AgentFailed(f"reading the history of the session failed: {error}") from error

    def opening(self, session_id: str, opened_ms: int) -> tuple[Message, ...]:
        """Return the messages of a dialog before its first turn.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        key = (session_id, opened_ms)  # an id may be used again
        with self._lock:
            if (cached := self._known.get(key)) is not None:
                self._known.move_to_end(key)
                return cached.messages
        texts = [text for _, text in self._streams.page(session_id, "dialog", count=MAX_OPENING)]
        messages = opening_of(
            read_stored(Message, text, session_id=session_id, part="dialog") for text in texts
        )
        if len(messages) < len(texts) or len(messages) == MAX_OPENING:  # else it may still grow
            size = sum(map(len, texts[: len(messages)]))
            with self._lock:
                self._keep(key, _Link(len(messages), messages, None, size))
        return messages

    def read_attachment(self, facts: SessionFacts, sha256: str) -> bytes | None:
        """Return an attachment of a session or of its history; None: none of them has it.

        Raises:
            ArchiveError: The archive does not answer.
            RedisUnavailable: Redis does not answer.
        """
        stored = AttachmentStore(self._store.client)
        for session_id in self._sessions(facts):
            if (data := stored.read(session_id, sha256)) is not None:
                return data
            reader = self._archive()
            if reader is not None and (data := reader.attachment(session_id, sha256)) is not None:
                return data
        return None

    def _sessions(self, facts: SessionFacts) -> Iterator[str]:
        """Yield the session and those of its history, the newest first, as far as they are known."""
        yield facts.session_id
        visited, link = {facts.session_id}, facts.spec.history
        while link is not None and link.session not in visited:
            visited.add(link.session)
            yield link.session
            try:
                link = self._link(link, 1).earlier
            except SessionNotFound:
                return

    def _newest(self, history: History, count: int) -> tuple[Message, ...]:
        messages: list[Message] = []
        visited: set[str] = set()
        link: History | None = history
        while link is not None and len(messages) < count and link.session not in visited:
            visited.add(link.session)  # an id that was used again could lead back to an earlier session
            try:
                loaded = self._link(link, count - len(messages))
            except SessionNotFound:
                messages.append(_missing_note(link))
                break
            messages += loaded.messages[: count - len(messages)]
            link = loaded.earlier
        return tuple(reversed(messages))

    def _link(self, history: History, count: int) -> _Link:
        with self._lock:
            cached = self._known.get(history)
            if cached is not None and (cached.asked >= count or len(cached.messages) < cached.asked):
                self._known.move_to_end(history)
                return cached
        link = self._read(history, count)
        with self._lock:
            self._keep(history, link)
        return link

    def _keep(self, key: History | tuple[str, int], link: _Link) -> None:
        if (old := self._known.pop(key, None)) is not None:
            self._characters -= old.characters
        self._known[key] = link
        self._characters += link.characters
        while self._characters > self._limit and len(self._known) > 1:
            _, dropped = self._known.popitem(last=False)
            self._characters -= dropped.characters

    def _read(self, history: History, count: int) -> _Link:
        """Read one session of the chain.

        Raises:
            SessionNotFound: Neither Redis nor the archive has it.
        """
        before = _after(history.until)
        entries: Sequence[Entry] = self._streams.newest_page(
            history.session, "dialog", before=before, count=count
        )
        try:
            # After the messages: if the spec is there, the keys had not expired.
            spec = self._store.documents(history.session).spec
        except SessionNotFound:
            reader = self._archive()
            if reader is None:
                raise
            entries = reader.newest_page(history.session, "dialog", before=before, count=count)
            spec = reader.session(history.session).documents.spec
        texts = [text for _, text in entries] if history.until != NO_MESSAGE else []
        messages = read_all_stored(Message, texts, session_id=history.session, part="dialog")
        return _Link(
            asked=count,
            messages=tuple(message.as_history() for message in messages),
            earlier=read_stored(SessionSpec, spec, session_id=history.session, part="spec").history,
            characters=sum(map(len, texts)),
        )


def _after(entry_id: str) -> str:
    """Return the next possible id of a stream entry."""
    at_ms, counter = entry_key(entry_id)
    return f"{at_ms}-{counter + 1}"


def _missing_note(history: History) -> Message:
    text = f"[Earlier messages are missing: session {history.session} is neither live nor in the archive.]"
    return Message(role=Role.SYSTEM, content=text)


@dataclass(frozen=True, slots=True)
class TurnAttachments:
    """Reader of the attachments that a turn may see: those of its session and of the session's history."""

    history: HistoryReader
    facts: SessionFacts

    def read(self, name: str, sha256: str) -> bytes:
        """Return the bytes with a digest.

        Raises:
            AttachmentUnavailable: The session has no such attachment.
            ArchiveError: The archive does not answer.
            RedisUnavailable: Redis does not answer.
        """
        data = self.history.read_attachment(self.facts, sha256)
        if data is None:
            why = f"session {self.facts.session_id} and those that it continues do not have it"
            raise AttachmentUnavailable(name, why=why)
        return data

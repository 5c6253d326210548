"""Queries of archived sessions: lists, search, one session.

Pages are stable, because a cursor is a position and not a count.
"""

from __future__ import annotations

import json
import time
from collections.abc import Collection, Iterator, Sequence
from typing import TYPE_CHECKING, Any

from sqlalchemy import Connection, Row, Select, and_, exists, or_, select, text
from sqlalchemy.sql.elements import ColumnElement

from ...models.errors import InvalidInput, SessionNotFound
from ...models.sessions.archived import Entry, Snapshot
from ...models.sessions.query import ANY_QUERY, SessionQuery
from ...models.text.ids import entry_key
from ..engine import Database
from ..results import (
    ANY_SESSION,
    MAX_PAGE_SIZE,
    FoundMessage,
    ListedSession,
    PagePosition,
    ResultPage,
    SessionFilter,
)
from ..tables import (
    ATTACHMENT,
    BLOB,
    COLLAB,
    COLLAB_EVENT,
    MAP_EVENT,
    MESSAGE,
    PARTICIPANT,
    RECORDED_TURN,
    SNAPSHOT,
    TAG,
)
from .conditions import SessionConditions, is_in_thread
from .listed import LISTED, listed_session
from .rows import message_entry, record_text

if TYPE_CHECKING:
    from .search import SessionSearch

#: Number of stream entries per query.
_BATCH_SIZE = 500

_EVENTS = {"events": MAP_EVENT, "journal": COLLAB_EVENT}


class ArchiveReader:
    """Reader of sessions. Every method may raise ArchiveUnavailable."""

    def __init__(self, database: Database) -> None:
        self._database = database

    # -- many ------------------------------------------------------------------------------

    def page(
        self, wanted: SessionFilter = ANY_SESSION, *, after: str | None = None, limit: int = 50
    ) -> ResultPage[ListedSession]:
        """Return sessions after a cursor, newest first.

        Raises:
            InvalidInput: A bad cursor or limit.
        """
        query = select(*LISTED).where(*self._conditions(wanted))
        if after is not None:
            position = PagePosition.from_cursor(after)
            older = COLLAB.c.opened_ms < position.at_ms
            query = query.where(
                or_(older, and_(COLLAB.c.opened_ms == position.at_ms, COLLAB.c.id < position.row))
            )
        query = query.order_by(COLLAB.c.opened_ms.desc(), COLLAB.c.id.desc())
        rows, more = self._fetch_page(query, limit)
        last = PagePosition(rows[-1].opened_ms, rows[-1].id).cursor() if more else None
        return ResultPage(tuple(map(listed_session, rows)), last)

    def search(
        self, words: str, wanted: SessionFilter = ANY_SESSION, *, after: str | None = None, limit: int = 50
    ) -> ResultPage[FoundMessage]:
        """Return messages that contain all of these words, newest first.

        Raises:
            InvalidInput: There is no word, or the cursor or the limit is not valid.
        """
        query = (
            select(MESSAGE, COLLAB.c.collab_id, COLLAB.c.title)
            .join(COLLAB, COLLAB.c.id == MESSAGE.c.session)
            .where(self._contains_words(words), *self._conditions(wanted))
            .order_by(MESSAGE.c.id.desc())
        )
        if after is not None:
            query = query.where(MESSAGE.c.id < PagePosition.from_cursor(after).row)
        rows, more = self._fetch_page(query, limit)
        last = PagePosition(rows[-1].at_ms, rows[-1].id).cursor() if more else None
        return ResultPage(tuple(map(_found, rows)), last)

    def search_sessions(
        self, query: SessionQuery, *, now_ms: int, without: Collection[str] = ()
    ) -> SessionSearch:
        """Return the search of a query: counts, pages in any order, and groups. Arguments as of `SessionSearch`."""
        from .search import SessionSearch

        return SessionSearch(self._database, query, now_ms=now_ms, without=without)

    def ids(self, prefix: str, *, limit: int = 10) -> list[str]:
        """Return the ids of sessions that start with `prefix`."""
        query = (
            select(COLLAB.c.collab_id)
            .distinct()
            .where(COLLAB.c.collab_id.startswith(prefix, autoescape=True))
        )
        with self._database.reading() as connection:
            return list(connection.execute(query.limit(limit)).scalars())

    # -- one -------------------------------------------------------------------------------

    def session(self, session_id: str) -> ListedSession:
        """Return the newest session with this id.

        Raises:
            SessionNotFound: There is no such session.
        """
        with self._database.reading() as connection:
            return listed_session(_newest(connection, session_id))

    def has_ended(self, session_id: str) -> bool:
        """Return whether the archive has the end of this session; False for an unknown session."""
        try:
            return self.session(session_id).fields.get("ended_ms") is not None
        except SessionNotFound:
            return False

    def snapshot(self, session_id: str) -> Snapshot:
        """Return the newest snapshot of its hashes.

        Raises:
            SessionNotFound: There is no such session.
        """
        with self._database.reading() as connection:
            session = _newest(connection, session_id).id
            row = connection.execute(select(SNAPSHOT).where(SNAPSHOT.c.session == session)).one()
            return Snapshot(*(json.loads(document) for document in (row.fields, row.turns, row.board)))

    def records(self, session_id: str) -> dict[str, str]:
        """Return the records of the session's turns, as JSON by token; none if its calls are not recorded.

        Raises:
            SessionNotFound: There is no such session.
        """
        with self._database.reading() as connection:
            session = _newest(connection, session_id).id
            rows = connection.execute(select(RECORDED_TURN).where(RECORDED_TURN.c.session == session))
            return {row.token_id: record_text(row.body) for row in rows}

    def attachment(self, session_id: str, sha256: str) -> bytes | None:
        """Return the bytes of an attachment of a session; None: the archive has no such session or attachment."""
        query = (
            select(BLOB.c.body)
            .join(ATTACHMENT, ATTACHMENT.c.sha256 == BLOB.c.sha256)
            .join(COLLAB, COLLAB.c.id == ATTACHMENT.c.session)
            .where(COLLAB.c.collab_id == session_id, BLOB.c.sha256 == sha256)
        )
        with self._database.reading() as connection:
            return connection.execute(query.limit(1)).scalar_one_or_none()

    def attachments(self, session_id: str) -> list[str]:
        """Return the digests of the attachments of a session.

        Raises:
            SessionNotFound: There is no such session.
        """
        with self._database.reading() as connection:
            session = _newest(connection, session_id).id
            query = select(ATTACHMENT.c.sha256).where(ATTACHMENT.c.session == session)
            return sorted(connection.execute(query).scalars())

    def entries(
        self, session_id: str, stream: str, *, after: str = "0", newest_first: bool = False
    ) -> Iterator[Entry]:
        """Yield the entries of `dialog`, `events` or `journal` after the entry `after` (`0`: all), read in batches.

        With `newest_first`, start with the newest entry; `after` has no effect.

        Raises:
            SessionNotFound: There is no such session.
        """
        with self._database.reading() as connection:
            session = _newest(connection, session_id).id
        position = None if after == "0" or newest_first else entry_key(after)
        while True:
            query = _entries(session, stream, position, newest_first=newest_first)
            with self._database.reading() as connection:
                some = connection.execute(query.limit(_BATCH_SIZE)).all()
            yield from map(_entry, some)
            if len(some) < _BATCH_SIZE:
                return
            position = some[-1].at_ms, some[-1].seq

    def newest_page(
        self, session_id: str, stream: str, *, before: str | None = None, count: int = _BATCH_SIZE
    ) -> list[Entry]:
        """Return up to `count` entries of `dialog`, `events` or `journal` before an entry (None: any), newest first.

        Raises:
            SessionNotFound: There is no such session.
        """
        position = None if before is None else entry_key(before)
        with self._database.reading() as connection:
            query = _entries(_newest(connection, session_id).id, stream, position, newest_first=True)
            return [_entry(row) for row in connection.execute(query.limit(count))]

    def _fetch_page(self, query: Select[Any], limit: int) -> tuple[Sequence[Row[Any]], bool]:
        """Return up to `limit` rows, and whether more follow."""
        if not 1 <= limit <= MAX_PAGE_SIZE:
            raise InvalidInput("limit", limit, f"must be from 1 to {MAX_PAGE_SIZE}")
        with self._database.reading() as connection:
            rows = connection.execute(query.limit(limit + 1)).all()
        return rows[:limit], len(rows) > limit

    def _conditions(self, wanted: SessionFilter) -> Iterator[ColumnElement[bool]]:
        yield from _conditions(wanted)
        if wanted.query != ANY_QUERY:
            now_ms = round(time.time() * 1000)
            dialect = "sqlite" if self._database.is_sqlite else "postgresql"
            conditions = SessionConditions(wanted.query, now_ms=now_ms, dialect=dialect)
            yield from (*conditions.filters(), *conditions.has_status())

    def _contains_words(self, words: str) -> ColumnElement[bool]:
        """Return the condition that a message contains all words."""
        terms = [term for term in words.replace("\x00", " ").split() if any(map(str.isalnum, term))]
        if not terms:
            raise InvalidInput("text", words, "must contain a word or a number")
        if self._database.is_sqlite:
            # FTS5 reads a term in double quotes as text, with any characters.
            quoted = " ".join('"' + term.replace('"', '""') + '"' for term in terms)
            condition = "message.id IN (SELECT rowid FROM message_words WHERE message_words MATCH :words)"
            return text(condition).bindparams(words=quoted)  # type: ignore[return-value]
        condition = (
            "to_tsvector('simple'::regconfig, left(message.content, 200000))"
            " @@ plainto_tsquery('simple'::regconfig, :words)"
        )
        return text(condition).bindparams(words=" ".join(terms))  # type: ignore[return-value]


def _conditions(wanted: SessionFilter) -> Iterator[ColumnElement[bool]]:
    if wanted.status is not None:
        yield COLLAB.c.status == wanted.status
    if wanted.mode is not None:
        yield COLLAB.c.mode == wanted.mode
    if wanted.participant is not None:
        mine = PARTICIPANT.c.participant_id == wanted.participant
        yield exists().where(PARTICIPANT.c.session == COLLAB.c.id, mine)
    if wanted.tag is not None:
        yield exists().where(TAG.c.session == COLLAB.c.id, TAG.c.tag == wanted.tag)
    if wanted.since_ms is not None:
        yield COLLAB.c.opened_ms >= wanted.since_ms
    if wanted.until_ms is not None:
        yield COLLAB.c.opened_ms < wanted.until_ms
    if wanted.text is not None:
        in_title = COLLAB.c.title.icontains(wanted.text, autoescape=True)
        has_id = COLLAB.c.collab_id.startswith(wanted.text.lower(), autoescape=True)
        yield or_(in_title, has_id, is_in_thread(wanted.text.lower()))
    if wanted.thread_id is not None:
        yield or_(COLLAB.c.collab_id == wanted.thread_id, is_in_thread(wanted.thread_id))


def _newest(connection: Connection, session_id: str) -> Row[Any]:
    query = select(*LISTED).where(COLLAB.c.collab_id == session_id)
    row = connection.execute(query.order_by(COLLAB.c.opened_ms.desc()).limit(1)).one_or_none()
    if row is None:
        raise SessionNotFound(session_id)
    return row


def _found(row: Row[Any]) -> FoundMessage:
    return FoundMessage(row.collab_id, row.title, row.speaker, row.turn, row.at_ms, row.content)


def _entry(row: Row[Any]) -> Entry:
    if "rest" in row._fields:
        return message_entry(row.at_ms, row.seq, row.content, row.rest)
    return f"{row.at_ms}-{row.seq}", row.body


def _entries(
    session: int, stream: str, position: tuple[int, int] | None, *, newest_first: bool
) -> Select[Any]:
    """Return the query of a stream's entries after a position in this order; None: from the first one."""
    table = _EVENTS.get(stream, MESSAGE)
    first, second = table.c.at_ms, table.c.seq
    query = select(table).where(table.c.session == session)
    # The first comparison alone lets the index find the place; the order of a page needs both.
    if newest_first:
        if position is not None:
            at_ms, seq = position
            query = query.where(first <= at_ms, or_(first < at_ms, second < seq))
        return query.order_by(first.desc(), second.desc())
    if position is not None:
        at_ms, seq = position
        query = query.where(first >= at_ms, or_(first > at_ms, second > seq))
    return query.order_by(first, second)

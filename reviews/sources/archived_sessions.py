"""Archived sessions as items, each as its transcript: messages, speakers and turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...models.errors import CorruptSession, SessionNotFound
from ...models.protocol.collab import Collab, CollabStatus
from ...models.protocol.dialog import Message
from ...models.text.redact import one_line
from ...state.redis.readers import read_stored
from ..values.runs import ItemKind, ReadItem, SkippedItem
from .sandboxed_folder import escape_path
from .source import SourceLimits, apply_limits, make_item

if TYPE_CHECKING:
    from ...archive.results import ListedSession, SessionFilter
    from ...archive.sessions.reader import ArchiveReader

#: Tag of review sessions. They are no items, because a nightly review would review the sessions of the last
#: one.
REVIEW_TAG = "symposia.review"
_ENDED = frozenset({CollabStatus.COMPLETED.value, CollabStatus.CANCELLED.value})
_PAGE = 100


@dataclass(frozen=True, slots=True)
class SessionSource:
    """Sessions of the archive: those with these ids, or the newest that have ended and are `wanted`."""

    #: Reader of the archive; None: nothing was archived yet.
    reader: ArchiveReader | None
    ids: Sequence[str] = ()
    wanted: SessionFilter | None = None
    caps: SourceLimits = field(default_factory=SourceLimits)

    def __iter__(self) -> Iterator[ReadItem | SkippedItem]:
        """Yield items, newest first or in the order of the ids. Raises ArchiveUnavailable."""
        yield from apply_limits(self._by_ids() if self.ids else self._newest(), self.caps)

    def _by_ids(self) -> Iterator[ReadItem | SkippedItem]:
        for session_id in dict.fromkeys(self.ids):
            try:
                if self.reader is None:
                    raise SessionNotFound(session_id)
                yield self._item(self.reader, self.reader.session(session_id))
            except SessionNotFound:
                yield SkippedItem(path=_key(escape_path(session_id)), reason="not in the archive")

    def _newest(self) -> Iterator[ReadItem | SkippedItem]:
        if self.reader is None:
            return
        from ...archive.results import ANY_SESSION

        given, cursor = 0, None
        while True:
            page = self.reader.page(self.wanted or ANY_SESSION, after=cursor, limit=_PAGE)
            for session in page.items:
                if given == self.caps.items:
                    yield SkippedItem(path=_key("*"), reason=f"older than the newest {given:,}")
                    return
                if session.fields["status"] in _ENDED and not _is_review(session):
                    given += 1
                    yield self._item(self.reader, session)
            cursor = page.cursor
            if cursor is None:
                return

    def _item(self, reader: ArchiveReader, session: ListedSession) -> ReadItem | SkippedItem:
        key = _key(session.session_id)
        try:
            text = _transcript(reader, session, limit=self.caps.item_bytes)
        except CorruptSession as error:
            return SkippedItem(path=key, reason=str(error))
        if text is None:
            return SkippedItem(path=key, reason=f"larger than {self.caps.item_bytes:,} bytes")
        return make_item(text, key, ItemKind.SESSION)


def _key(session_id: str) -> str:
    return f"session:{session_id}"


def _collab(session: ListedSession) -> Collab:
    return read_stored(Collab, session.documents.collab, session_id=session.session_id, part="collab")


def _is_review(session: ListedSession) -> bool:
    with suppress(CorruptSession):  # reported as a skipped item
        return REVIEW_TAG in (_collab(session).meta.tags or ())
    return False


def _transcript(reader: ArchiveReader, session: ListedSession, *, limit: int) -> str | None:
    """Return the session as Markdown; None: longer than `limit` bytes. Raises CorruptSession, ArchiveUnavailable."""
    pieces = [_head(session)]
    left = limit - len(pieces[0].encode())
    for number, (_, text) in enumerate(reader.entries(session.session_id, "dialog"), start=1):
        message = read_stored(Message, text, session_id=session.session_id, part="dialog")
        pieces.append(_format_message(number, message))
        left -= len(pieces[-1].encode())
        if left < 0:
            return None
    return "".join(pieces)


def _head(session: ListedSession) -> str:
    collab = _collab(session)
    fields = session.fields
    ended = ", ".join(filter(None, (fields["status"], fields["reason"], fields["detail"])))
    lines = [
        f"# {one_line(collab.title)}",
        "",
        f"- Mode: {collab.mode.value}",
        f"- Participants: {one_line(', '.join(participant.participant_id for participant in collab.participants))}",
        f"- Ended: {one_line(ended)}",
        "",
        collab.purpose,
        "",
    ]
    return "\n".join(lines)


def _format_message(number: int, message: Message) -> str:
    turn = f", turn {message.turn_number}" if message.turn_number is not None else ""
    who = one_line(message.speaker or message.role.value)
    return f"\n## {number}. {who}{turn}\n\n{message.content.rstrip()}\n"

"""Archived sessions as items, each as its transcript: messages, speakers and turns."""

from __future__ import annotations

from collections.abc import Iterator, Sequence
from contextlib import suppress
from dataclasses import dataclass, field
from typing import TYPE_CHECKING

from ...models.errors import CorruptSession, SessionNotFound
from ...models.protocol.collab import Collab, CollabStatus
from ...models.protocol.dialog import Message
from ...models.review.items import ItemKind, Read, Skipped
from ...models.text.redact import one_line
from ...state.redis.stored import read_stored
from .sandboxed_folder import visible
from .source import Caps, read_of, within

if TYPE_CHECKING:
    from ...archive.sessions.reader import ArchiveReader
    from ...archive.values import Archived, Wanted

#: Tag of the sessions of reviews. They are not items themselves: otherwise each night would review the night before.
REVIEW_TAG = "symposia.review"
_ENDED = frozenset({CollabStatus.COMPLETED.value, CollabStatus.CANCELLED.value})
_PAGE = 100


@dataclass(frozen=True, slots=True)
class SessionSource:
    """Sessions of the archive: those with these ids, or the newest that have ended and are `wanted`."""

    #: None: nothing was archived yet.
    reader: ArchiveReader | None
    ids: Sequence[str] = ()
    wanted: Wanted | None = None
    caps: Caps = field(default_factory=Caps)

    def __iter__(self) -> Iterator[Read | Skipped]:
        """Yield items, newest first or in the order of the ids. Raises ArchiveUnavailable."""
        yield from within(self._named() if self.ids else self._listed(), self.caps)

    def _named(self) -> Iterator[Read | Skipped]:
        for session_id in dict.fromkeys(self.ids):
            try:
                if self.reader is None:
                    raise SessionNotFound(session_id)
                yield self._item(self.reader, self.reader.session(session_id))
            except SessionNotFound:
                yield Skipped(path=_key(visible(session_id)), reason="not in the archive")

    def _listed(self) -> Iterator[Read | Skipped]:
        if self.reader is None:
            return
        from ...archive.values import ANY

        given, cursor = 0, None
        while True:
            page = self.reader.page(self.wanted or ANY, after=cursor, limit=_PAGE)
            for session in page.items:
                if given == self.caps.items:
                    yield Skipped(path=_key("*"), reason=f"older than the newest {given:,}")
                    return
                if session.fields["status"] in _ENDED and not _is_review(session):
                    given += 1
                    yield self._item(self.reader, session)
            cursor = page.cursor
            if cursor is None:
                return

    def _item(self, reader: ArchiveReader, session: Archived) -> Read | Skipped:
        key = _key(session.session_id)
        try:
            text = _transcript(reader, session, limit=self.caps.item_bytes)
        except CorruptSession as error:
            return Skipped(path=key, reason=str(error))
        if text is None:
            return Skipped(path=key, reason=f"larger than {self.caps.item_bytes:,} bytes")
        return read_of(text, key=key, path=key, kind=ItemKind.SESSION)


def _key(session_id: str) -> str:
    return f"session:{session_id}"


def _collab(session: Archived) -> Collab:
    return read_stored(Collab, session.documents.collab, session_id=session.session_id, part="collab")


def _is_review(session: Archived) -> bool:
    with suppress(CorruptSession):  # reported as a skipped item
        return REVIEW_TAG in (_collab(session).meta.tags or ())
    return False


def _transcript(reader: ArchiveReader, session: Archived, *, limit: int) -> str | None:
    """Return the session as Markdown; None: it is longer than `limit` bytes. Raises CorruptSession, ArchiveUnavailable."""
    pieces = [_head(session)]
    left = limit - len(pieces[0].encode())
    for number, (_, text) in enumerate(reader.entries(session.session_id, "dialog"), start=1):
        message = read_stored(Message, text, session_id=session.session_id, part="dialog")
        pieces.append(_said(number, message))
        left -= len(pieces[-1].encode())
        if left < 0:
            return None
    return "".join(pieces)


def _head(session: Archived) -> str:
    collab = _collab(session)
    fields = session.fields
    ended = ", ".join(filter(None, (fields["status"], fields["reason"], fields["detail"])))
    lines = [
        f"# {one_line(collab.title)}",
        "",
        f"- Mode: {collab.mode.value}",
        f"- Participants: {one_line(', '.join(it.participant_id for it in collab.participants))}",
        f"- Ended: {one_line(ended)}",
        "",
        collab.purpose,
        "",
    ]
    return "\n".join(lines)


def _said(number: int, message: Message) -> str:
    turn = f", turn {message.turn_number}" if message.turn_number is not None else ""
    who = one_line(message.speaker or message.role.value)
    return f"\n## {number}. {who}{turn}\n\n{message.content.rstrip()}\n"

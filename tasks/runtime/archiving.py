"""Archiving of sessions: changes since the last archiving are written to SQL.

It runs in every worker, in addition to the sweep. One worker archives a session; the others find nothing left
to do. No turn waits for it: a database outage does not slow sessions, and pending writes stay queued in
Redis.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable, Iterator, Sequence
from contextlib import contextmanager
from dataclasses import dataclass
from typing import TYPE_CHECKING, NamedTuple

from redis import Redis

from ...models.errors import ArchiveUnavailable, RedisUnavailable
from ...models.protocol.collab import CollabStatus
from ...models.sessions.archived import ArchivePage, ArchiveProgress
from ...state.log_context import log_context
from ...state.sessions.archiving import ArchiveQueue, PageRead, RecordingStore, SnapshotReader, is_waiting
from ...state.sessions.attachments import AttachmentStore
from ...state.sessions.index import SessionIndex

if TYPE_CHECKING:
    from ...archive.archive import Archive

log = logging.getLogger(__name__)

#: Maximum number of sessions per claim, and milliseconds for which other archivers do not get them.
BATCH = 20
#: Number of characters after which the sessions read so far are written.
BATCH_CHARACTERS = 4_000_000
HOLD_MS = 60_000
#: Maximum milliseconds between two checks; the interval grows while a session is idle.
SELDOM_MS = 60_000
#: The same for a session whose turns all wait for answers: what changes it makes a check due (`SessionIndex.archive_soon`).
WAITING_MS = 3_600_000
#: Milliseconds after which an ended session is checked once more, because its journal records late writers.
LATE_MS = 600_000

_FINAL = frozenset({CollabStatus.COMPLETED, CollabStatus.CANCELLED})


class _Overtaken(Exception):
    """Nothing is left to write: another archiver was faster, or the session no longer exists."""


class _Written(NamedTuple):
    """A session that the archive has completely."""

    session_id: str
    progress: ArchiveProgress
    has_ended: bool
    #: True: all its turns wait for answers.
    is_waiting: bool = False

    @classmethod
    def read(cls, page: ArchivePage) -> _Written:
        """Return the session of a page with a snapshot, after it was written."""
        assert page.snapshot is not None  # noqa: S101 - the last page of each session has it
        fields = page.snapshot.fields
        progress = ArchiveProgress(page.opened_ms, int(fields["updated_ms"]), page.until)
        return cls(
            page.session_id, progress, fields["status"] in _FINAL, is_waiting=is_waiting(page.snapshot.turns)
        )


@dataclass(frozen=True, slots=True)
class ArchivingTimes:
    """Times of archiving; milliseconds."""

    #: Milliseconds between two checks of an active session.
    every_ms: int
    #: Milliseconds for which the live keys are kept after the end.
    retention_ms: int


@dataclass(frozen=True, slots=True)
class _LiveAttachments:
    """The attachments of one session."""

    store: AttachmentStore
    session_id: str

    def digests(self) -> list[str]:
        return self.store.digests(self.session_id)

    def read(self, sha256: str) -> bytes | None:
        return self.store.read(self.session_id, sha256)


class Archiver:
    """Archiver of the sessions of one Redis. The client must decode responses."""

    def __init__(self, archive: Archive, client: Redis, times: ArchivingTimes) -> None:
        self.target = archive
        self._index = SessionIndex(client)
        self._queue = ArchiveQueue(client)
        self._reader = SnapshotReader(client)
        self._records = RecordingStore(client)
        self._attachments = AttachmentStore(client)
        self._times = times

    def archive_due(self, *, rest: Callable[[float], object] = lambda _: None) -> int:
        """Archive every session that is due; return the number of archived sessions.

        Args:
            rest: Function that is called after each batch with the seconds that it took.

        Raises:
            ArchiveUnavailable, RedisUnavailable: Entries that were not written stay in the archive queue.
        """
        written = 0
        while claimed := self._queue.claim(limit=BATCH, hold_ms=HOLD_MS):
            began = time.monotonic()
            try:
                self.target.prepare()
                written += self._archive_all(claimed)
            except ArchiveUnavailable:
                # Release the claim, so that the first worker that reaches the database archives them.
                for session_id in claimed:
                    self._queue.reschedule(session_id, self._index.now_ms())
                raise
            rest(time.monotonic() - began)
        return written

    def _archive_all(self, session_ids: Sequence[str]) -> int:
        progress_by_session = self.target.writer.progress(session_ids)
        written, pages = 0, []
        for session_id in session_ids:
            with _retrying_later(session_id):
                progress = progress_by_session.get(session_id, ArchiveProgress())
                page_read = self._reader.read_page(session_id, progress)
                if page_read.page is None or not self.target.writer.fits_together(page_read.page):
                    written += self._archive_read(session_id, progress, page_read)
                    continue
                pages.append(page_read.page)
            if sum(page.size for page in pages) >= BATCH_CHARACTERS:
                written += self._write_together(pages)
                pages = []
        return written + self._write_together(pages)

    def _write_together(self, pages: Sequence[ArchivePage]) -> int:
        """Write sessions in one transaction, or else one after the other; return how many were written."""
        if len(pages) > 1:
            try:
                if self.target.writer.write_all(pages):
                    self._schedule_checks([_Written.read(page) for page in pages])
                    return len(pages)
            except (ArchiveUnavailable, RedisUnavailable):
                raise
            except Exception:  # one session that cannot be archived must not block the others
                log.debug("archiving %d sessions together failed", len(pages), exc_info=True)
        written = 0
        for page in pages:
            with _retrying_later(page.session_id):
                written += self._write(page)
        return written

    def archive(self, session_id: str, progress: ArchiveProgress) -> bool:
        """Archive one session from `progress` on, and set the time of its next check.

        Return False if nothing was new.
        """
        return self._archive_read(session_id, progress, self._reader.read_page(session_id, progress))

    def _archive_read(self, session_id: str, progress: ArchiveProgress, page_read: PageRead) -> bool:
        if page_read.word == "missing":
            self._index.drop_orphan(session_id, self._queue)
            return False
        if page_read.word == "newer":  # the archiver of a newer worker writes it
            self._queue.reschedule(session_id, self._index.now_ms() + self._times.every_ms)
            return False
        if page_read.page is not None:
            return self._write(page_read.page)
        waits = self._reader.is_waiting(session_id)
        # For other sessions an end is assumed here; `_schedule_checks` verifies it.
        self._schedule_checks([_Written(session_id, progress, has_ended=not waits, is_waiting=waits)])
        return False

    def _write(self, page: ArchivePage) -> bool:
        """Write one session from a page on; return False if another archiver was faster."""
        records: dict[str, str] = {}

        def read_records() -> dict[str, str]:
            records.update(self._records.read_all(page.session_id))
            return records

        try:
            last = self.target.writer.write(
                page,
                lambda since: self._read_on(page.session_id, since),
                read_records,
                _LiveAttachments(self._attachments, page.session_id),
            )
        except _Overtaken:
            return False
        if records:
            self._records.remove(page.session_id, list(records))
        self._schedule_checks([_Written.read(last)])
        return True

    def _read_on(self, session_id: str, since: ArchiveProgress) -> ArchivePage:
        page = self._reader.read_page(session_id, since).page
        if page is None or page.opened_ms != since.opened_ms:
            raise _Overtaken
        return page

    def _schedule_checks(self, sessions: Sequence[_Written]) -> None:
        """Set the time of the next check of each session; let the live keys of an ended one expire."""
        now_ms, times = self._index.now_ms(), self._times
        next_ms: dict[str, int] = {}
        for session_id, progress, has_ended, waits in sessions:
            ended_ms = (
                self._reader.expire_if_archived(session_id, progress, retention_ms=times.retention_ms)
                if has_ended
                else None
            )
            if waits:
                next_ms[session_id] = now_ms + WAITING_MS
            elif ended_ms is None:
                pause_ms = (now_ms - progress.updated_ms) // 4
                next_ms[session_id] = now_ms + min(max(pause_ms, times.every_ms), SELDOM_MS)
            elif (late_ms := ended_ms + min(LATE_MS, times.retention_ms // 2)) > now_ms:
                next_ms[session_id] = late_ms
            else:
                self._queue.remove_archived(session_id)
        self._queue.reschedule_all(next_ms)


@contextmanager
def _retrying_later(session_id: str) -> Iterator[None]:
    """Log an error of one session, which must not block the others; its claim ends, so it is tried again."""
    try:
        with log_context(session_id):
            yield
    except (ArchiveUnavailable, RedisUnavailable):
        raise
    except Exception:
        log.exception("archiving session %s failed, will retry", session_id)

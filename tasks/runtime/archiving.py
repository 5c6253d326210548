"""Archiving of sessions: changes since the last archiving are written to SQL.

It runs in every worker, in addition to the sweep. One worker archives a session; the others find nothing left
to do. No turn waits for it: a database outage does not slow sessions, and pending writes stay queued in
Redis.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import TYPE_CHECKING

from redis import Redis

from ...models.errors import ArchiveUnavailable, RedisUnavailable
from ...models.protocol.collab import CollabStatus
from ...models.sessions.archived import ArchivePage, ArchiveProgress
from ...state.sessions.archiving import ArchiveQueue, SnapshotReader
from ...state.sessions.index import SessionIndex
from .log_context import log_context

if TYPE_CHECKING:
    from ...archive.archive import Archive

log = logging.getLogger(__name__)

#: Maximum number of sessions per claim, and milliseconds for which other archivers do not get them.
BATCH = 20
HOLD_MS = 60_000
#: Maximum milliseconds between two checks; the interval grows while a session is idle.
SELDOM_MS = 60_000
#: Milliseconds after which an ended session is checked once more, because its journal records late writers.
LATE_MS = 600_000

_FINAL = frozenset({CollabStatus.COMPLETED, CollabStatus.CANCELLED})


class _Overtaken(Exception):
    """Nothing is left to write: another archiver was faster, or the session no longer exists."""


@dataclass(frozen=True, slots=True)
class ArchivingTimes:
    """Times of archiving; milliseconds."""

    #: Milliseconds between two checks of an active session.
    every_ms: int
    #: Milliseconds for which the live keys are kept after the end.
    retention_ms: int


class Archiver:
    """Archiver of the sessions of one Redis. The client must decode responses."""

    def __init__(self, archive: Archive, client: Redis, times: ArchivingTimes) -> None:
        self.target = archive
        self._index = SessionIndex(client)
        self._queue = ArchiveQueue(client)
        self._reader = SnapshotReader(client)
        self._times = times

    def archive_due(self) -> int:
        """Archive every session that is due; return the number of archived sessions.

        Raises:
            ArchiveUnavailable, RedisUnavailable: Entries that were not written stay in the archive queue.
        """
        written = 0
        while claimed := self._queue.claim(limit=BATCH, hold_ms=HOLD_MS):
            try:
                self.target.prepare()
                written += self._archive_all(claimed)
            except ArchiveUnavailable:
                # Release the claim, so that the first worker that reaches the database archives them.
                for session_id in claimed:
                    self._queue.reschedule(session_id, self._index.now_ms())
                raise
        return written

    def _archive_all(self, session_ids: Sequence[str]) -> int:
        known = self.target.writer.progress(session_ids)
        written = 0
        for session_id in session_ids:
            try:
                with log_context(session_id):
                    written += self.archive(session_id, known.get(session_id, ArchiveProgress()))
            except (ArchiveUnavailable, RedisUnavailable):
                raise
            except Exception:  # one session that cannot be archived must not block the others
                log.exception("archiving session %s failed, will retry", session_id)
        return written

    def archive(self, session_id: str, progress: ArchiveProgress) -> bool:
        """Archive one session from `progress` on, and set the time of its next check.

        Return False if nothing was new.
        """
        look = self._reader.read_page(session_id, progress)
        if look.word == "missing":
            self._index.drop_orphan(session_id, self._queue)
            return False
        has_ended = True  # assumed here; `release` checks it again
        if look.page is not None:
            try:
                last = self.target.writer.write(look.page, lambda since: self._read_on(session_id, since))
            except _Overtaken:
                return False
            assert last.snapshot is not None  # noqa: S101 - it is what `write` ends with
            fields = last.snapshot.fields
            progress = ArchiveProgress(last.opened_ms, int(fields["updated_ms"]), last.until)
            has_ended = fields["status"] in _FINAL
        self._schedule_check(session_id, progress, has_ended=has_ended)
        return look.page is not None

    def _read_on(self, session_id: str, since: ArchiveProgress) -> ArchivePage:
        page = self._reader.read_page(session_id, since).page
        if page is None or page.opened_ms != since.opened_ms:
            raise _Overtaken
        return page

    def _schedule_check(self, session_id: str, progress: ArchiveProgress, *, has_ended: bool) -> None:
        now_ms = self._index.now_ms()
        times = self._times
        ended_ms = (
            self._reader.expire_if_archived(session_id, progress, retention_ms=times.retention_ms)
            if has_ended
            else None
        )
        if ended_ms is None:
            pause_ms = (now_ms - progress.updated_ms) // 4
            self._queue.reschedule(session_id, now_ms + min(max(pause_ms, times.every_ms), SELDOM_MS))
        elif (late_ms := ended_ms + min(LATE_MS, times.retention_ms // 2)) > now_ms:
            self._queue.reschedule(session_id, late_ms)
        else:
            self._queue.remove_archived(session_id)

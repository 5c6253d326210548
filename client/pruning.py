"""Deletion of old entries of the archive: sessions, runs of reviews, ended tasks.

Live sessions are not deleted, because they would be archived again.
"""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redis import Redis

from ..state.sessions.archiving import is_live

if TYPE_CHECKING:
    from ..archive.archive import Archive
    from ..reviews.archive.writer import ReviewPruner
    from ..workspace.sql.changes import TaskPruner


@dataclass(slots=True)
class Pruned:
    """Numbers of deleted entries; in a dry run, of entries that would be deleted."""

    sessions: int = 0
    messages: int = 0
    #: Number of sessions that were not deleted because they are still in Redis.
    live: int = 0
    #: Number of runs of batch reviews.
    reviews: int = 0
    #: Number of ended tasks, with their conversations.
    tasks: int = 0
    #: Number of texts of the long-term memory.
    texts: int = 0


def prune(
    archive: Archive,
    client: Redis,
    *,
    before_ms: int | None = None,
    user: str | None = None,
    dry_run: bool = False,
) -> Pruned:
    """Delete sessions that ended, or last changed, before `before_ms`.

    Delete also texts of the long-term memory of that time, or of the user; without `user`, old review runs and ended
    tasks.

    Args:
        archive: The archive.
        client: A Redis client, to find live sessions.
        before_ms: Time in milliseconds since the epoch.
        user: Only sessions that used the memory of this user.
        dry_run: Count, but delete nothing.

    Raises:
        ArchiveUnavailable, RedisUnavailable: Some entries may be deleted; the call may be repeated.
    """
    archive.prepare()
    from ..archive.recollections import ArchivedRecollections
    from ..memory.turn_recollections import PendingNotes
    from ..reviews.archive.writer import ReviewPruner
    from ..workspace.sql.changes import TaskPruner

    reviews = ReviewPruner(archive.database)
    done, after_row = Pruned(), 0
    while sessions := archive.pruner.find(before_ms=before_ms, user=user, after_row=after_row):
        after_row = sessions[-1].row
        gone = [session for session in sessions if not is_live(client, session.session_id, session.opened_ms)]
        done.sessions += len(gone)
        done.messages += sum(session.messages for session in gone)
        done.live += len(sessions) - len(gone)
        if gone and not dry_run:
            reviews.delete_session_results([session.session_id for session in gone])
            archive.pruner.delete([session.row for session in gone])
    if user is not None and not dry_run:
        PendingNotes(client).drop_user(user)
    recollections = ArchivedRecollections(archive)
    done.texts = recollections.prune(before_ms=before_ms, user=user, dry_run=dry_run)
    if not dry_run:  # also what an earlier call left
        archive.pruner.delete_unused_attachments()
    if before_ms is not None and user is None:
        done.reviews = _prune_reviews(reviews, before_ms, dry_run=dry_run)
        _prune_tasks(TaskPruner(archive.database), before_ms, done, dry_run=dry_run)
    return done


def _prune_reviews(pruner: ReviewPruner, before_ms: int, *, dry_run: bool) -> int:
    count, after_row = 0, 0
    while rows := pruner.find(before_ms=before_ms, after_row=after_row):
        after_row = rows[-1]
        count += len(rows)
        if not dry_run:
            pruner.delete(rows)
    return count


def _prune_tasks(pruner: TaskPruner, before_ms: int, done: Pruned, *, dry_run: bool) -> None:
    after_row = ""
    while tasks := pruner.find(before_ms=before_ms, after_row=after_row):
        after_row = tasks[-1].task_id
        done.tasks += len(tasks)
        done.messages += sum(task.messages for task in tasks)
        if not dry_run:
            pruner.delete([task.task_id for task in tasks])

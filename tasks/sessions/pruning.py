"""Retention: deletion of archived sessions. Live sessions are kept, because they would be archived again."""

from __future__ import annotations

from dataclasses import dataclass
from typing import TYPE_CHECKING

from redis import Redis

from ...state.sessions.archive_queue import is_live

if TYPE_CHECKING:
    from ...archive.archive import Archive


@dataclass(slots=True)
class Pruned:
    """Numbers of deleted entries; with a dry run, of entries that would be deleted."""

    sessions: int = 0
    messages: int = 0
    #: Sessions that are still in Redis and were not deleted.
    live: int = 0
    #: Runs of batch reviews.
    reviews: int = 0
    #: Ended tasks, with their conversations.
    tasks: int = 0


def prune(
    archive: Archive,
    client: Redis,
    *,
    before_ms: int | None = None,
    user: str | None = None,
    dry_run: bool = False,
) -> Pruned:
    """Delete sessions that ended, or last changed, before `before_ms`; without a `user` also old review runs and ended tasks.

    Args:
        archive: the archive.
        client: a Redis client, to find live sessions.
        before_ms: milliseconds since the epoch.
        user: only sessions that used the memory of this user.
        dry_run: delete nothing, only count.

    Raises:
        ArchiveUnavailable, RedisUnavailable: a part may be deleted; the call may be repeated.
    """
    archive.prepare()
    done, behind = Pruned(), 0
    while found := archive.pruner.find(before_ms=before_ms, user=user, behind=behind):
        behind = found[-1].row
        gone = [it for it in found if not is_live(client, it.session_id, it.opened_ms)]
        done.sessions += len(gone)
        done.messages += sum(it.messages for it in gone)
        done.live += len(found) - len(gone)
        if gone and not dry_run:
            archive.review_pruner.delete_session_results([it.session_id for it in gone])
            archive.pruner.delete([it.row for it in gone])
    if before_ms is not None and user is None:
        done.reviews = _prune_reviews(archive, before_ms, dry_run=dry_run)
        _prune_tasks(archive, before_ms, done, dry_run=dry_run)
    return done


def _prune_reviews(archive: Archive, before_ms: int, *, dry_run: bool) -> int:
    count, behind = 0, 0
    while rows := archive.review_pruner.find(before_ms=before_ms, behind=behind):
        behind = rows[-1]
        count += len(rows)
        if not dry_run:
            archive.review_pruner.delete(rows)
    return count


def _prune_tasks(archive: Archive, before_ms: int, done: Pruned, *, dry_run: bool) -> None:
    behind = ""
    while found := archive.task_pruner.find(before_ms=before_ms, behind=behind):
        behind = found[-1].task_id
        done.tasks += len(found)
        done.messages += sum(it.messages for it in found)
        if not dry_run:
            archive.task_pruner.delete([it.task_id for it in found])

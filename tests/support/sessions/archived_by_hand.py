"""Sessions run by hand and archived on request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sessions.by_hand import ByHand
from symposia.archive.archive import Archive
from symposia.jobs.collab import CollabJob
from symposia.state.redis.keys import ARCHIVE_QUEUE


@contextmanager
def hand_with_archive(redis_url: str, folder: Path) -> Iterator[ByHand]:
    """Sessions run by hand, in an installation whose settings turn the archive on."""
    hand = ByHand.on(redis_url, folder)
    yield hand
    for archive in (hand.client.archive, hand.runtime.ports.archiver and hand.runtime.ports.archiver.target):
        if archive is not None:
            archive.close()


def archive_now(hand: ByHand, job: CollabJob) -> Archive:
    assert hand.runtime.ports.archiver is not None
    hand.runtime.store.client.zadd(ARCHIVE_QUEUE, {job.id: 0})
    hand.runtime.ports.archiver.archive_due()
    assert hand.client.archive is not None
    return hand.client.archive


def spoken(hand: ByHand, *, turns: int = 4, before: int = 2) -> CollabJob:
    """A session some of whose turns are over."""
    job = hand.open("echo", "echo2", turns=turns, agents={"echo": "echo", "echo2": "echo"})
    for number in range(1, before + 1):
        assert hand.turn(job, number) == "committed"
    return job

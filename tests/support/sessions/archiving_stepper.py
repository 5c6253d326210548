"""Sessions run turn by turn and archived on request."""

from __future__ import annotations

from collections.abc import Iterator
from contextlib import contextmanager
from pathlib import Path

from sessions.stepper import Stepper
from symposia.archive.archive import Archive
from symposia.jobs.collab import CollabJob
from symposia.state.redis.keys import ARCHIVE_QUEUE


@contextmanager
def archiving_stepper(redis_url: str, folder: Path) -> Iterator[Stepper]:
    """Sessions run turn by turn, in an installation whose settings turn the archive on."""
    stepper = Stepper.on(redis_url, folder)
    yield stepper
    for archive in (
        stepper.client.archive,
        stepper.runtime.ports.archiver and stepper.runtime.ports.archiver.target,
    ):
        if archive is not None:
            archive.close()


def archive_now(stepper: Stepper, job: CollabJob) -> Archive:
    assert stepper.runtime.ports.archiver is not None
    stepper.runtime.store.client.zadd(ARCHIVE_QUEUE, {job.id: 0})
    stepper.runtime.ports.archiver.archive_due()
    assert stepper.client.archive is not None
    return stepper.client.archive


def spoken(stepper: Stepper, *, turns: int = 4, before: int = 2) -> CollabJob:
    """A session some of whose turns are over."""
    job = stepper.open("echo", "echo2", turns=turns, agents={"echo": "echo", "echo2": "echo"})
    for number in range(1, before + 1):
        assert stepper.turn(job, number) == "committed"
    return job

"""Sessions whose turns all wait for answers are checked rarely, and soon after a change."""

from __future__ import annotations

import pytest

from sessions.archiving_stepper import archive_now
from symposia.state.redis.keys import ARCHIVE_QUEUE
from symposia.state.redis.readers import StreamReader
from symposia.tasks.runtime.archiving import SELDOM_MS, WAITING_MS

PEOPLE = {"ann": "human", "bob": "human"}

pytestmark = pytest.mark.leaves_keys


def next_check_in_ms(stepper, job):
    client = stepper.runtime.store.client
    return client.zscore(ARCHIVE_QUEUE, job.id) - stepper.runtime.index.now_ms()


@pytest.fixture
def parked(stepper):
    """An archived session whose turn waits for a person."""
    job = stepper.open(*PEOPLE, turns=4, agents=PEOPLE)
    assert stepper.turn(job, 1) == "parked"
    archive_now(stepper, job)
    return job


def test_waiting_sessions_are_checked_once_an_hour(stepper, parked):
    assert next_check_in_ms(stepper, parked) > WAITING_MS - 60_000
    archive_now(stepper, parked)
    assert next_check_in_ms(stepper, parked) > WAITING_MS - 60_000, "nothing has changed"


def test_other_sessions_are_checked_every_minute(stepper):
    job = stepper.open(*PEOPLE, turns=4, agents=PEOPLE)
    archive_now(stepper, job)
    assert next_check_in_ms(stepper, job) <= SELDOM_MS


@pytest.mark.parametrize(
    "change",
    [
        lambda job: job.reply("ann", "yes"),
        lambda job: job.post("an aside"),
        lambda job: job.add_participant("eve", "echo"),
        lambda job: job.suspend(),
        lambda job: job.stop(),
        lambda job: job.cancel(),
    ],
    ids=["reply", "post", "steer", "suspend", "stop", "cancel"],
)
def test_changed_sessions_are_archived_at_once(stepper, parked, change):
    change(parked)
    stepper.runtime.ports.archiver.archive_due()
    live = StreamReader(stepper.runtime.store.client).all(parked.id, "journal")
    assert list(stepper.client.archive.reader.entries(parked.id, "journal")) == list(live)


def test_resumed_sessions_are_archived_at_once(stepper, parked):
    parked.suspend()
    stepper.runtime.ports.archiver.archive_due()
    assert next_check_in_ms(stepper, parked) > WAITING_MS - 60_000
    parked.resume()
    assert next_check_in_ms(stepper, parked) <= 0

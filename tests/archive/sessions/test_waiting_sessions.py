"""Sessions whose turns all wait for answers are checked rarely, and soon after a change."""

from __future__ import annotations

import pytest

from sessions.archived_by_hand import archive_now
from symposia.state.redis.keys import ARCHIVE_QUEUE
from symposia.state.redis.readers import StreamReader
from symposia.tasks.runtime.archiving import SELDOM_MS, WAITING_MS

PEOPLE = {"ann": "human", "bob": "human"}

pytestmark = pytest.mark.leaves_keys


def next_check_in_ms(hand, job):
    client = hand.runtime.store.client
    return client.zscore(ARCHIVE_QUEUE, job.id) - hand.runtime.index.now_ms()


@pytest.fixture
def parked(hand):
    """An archived session whose turn waits for a person."""
    job = hand.open(*PEOPLE, turns=4, agents=PEOPLE)
    assert hand.turn(job, 1) == "parked"
    archive_now(hand, job)
    return job


def test_waiting_sessions_are_checked_once_an_hour(hand, parked):
    assert next_check_in_ms(hand, parked) > WAITING_MS - 60_000
    archive_now(hand, parked)
    assert next_check_in_ms(hand, parked) > WAITING_MS - 60_000, "nothing has changed"


def test_other_sessions_are_checked_every_minute(hand):
    job = hand.open(*PEOPLE, turns=4, agents=PEOPLE)
    archive_now(hand, job)
    assert next_check_in_ms(hand, job) <= SELDOM_MS


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
def test_changed_sessions_are_archived_at_once(hand, parked, change):
    change(parked)
    hand.runtime.ports.archiver.archive_due()
    live = StreamReader(hand.runtime.store.client).all(parked.id, "journal")
    assert list(hand.client.archive.reader.entries(parked.id, "journal")) == list(live)


def test_resumed_sessions_are_archived_at_once(hand, parked):
    parked.suspend()
    hand.runtime.ports.archiver.archive_due()
    assert next_check_in_ms(hand, parked) > WAITING_MS - 60_000
    parked.resume()
    assert next_check_in_ms(hand, parked) <= 0

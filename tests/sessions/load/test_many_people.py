"""Many sessions that wait for people do not delay other sessions."""

from __future__ import annotations

import pytest

from live import has_no_message, result_of, until
from symposia.config.celery import QUEUE
from symposia.models.protocol.collab import Collab, Participant
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import INBOX


@pytest.mark.long
@pytest.mark.timeout(180)
def test_two_hundred_sessions_wait_for_one_person(installation):
    check_that_waiting_costs_nothing(installation, sessions=200)


@pytest.mark.soak
@pytest.mark.timeout(1_500)
def test_five_thousand_sessions_wait_for_one_person(installation):
    check_that_waiting_costs_nothing(installation, sessions=5_000)


def check_that_waiting_costs_nothing(installation, *, sessions):
    installation.start_worker()
    client = installation.client
    waiting = [ask_ben(client, number) for number in range(sessions)]
    redis = connect(installation.redis_url)
    until(lambda: redis.zcard(INBOX) == sessions, timeout_s=600, what="all of them wait")
    until(
        lambda: not redis.llen(QUEUE) and has_no_message(redis), timeout_s=30, what="no worker has a message"
    )
    assert not list(redis.scan_iter("*:lock:*", count=10_000)), "nobody holds a floor"

    others = [
        installation.submit("round_robin", {"ann": "say", "bob": "say"}, stop={"max_turns": 10})
        for _ in range(10)
    ]
    assert {result_of(job, timeout_s=60).turns for job in others} == {10}
    assert redis.zcard(INBOX) == sessions, "nobody has answered for Ben"

    for job in waiting:
        job.reply("ben", f"APPROVED: {job.id}")
    for job in waiting:
        result = result_of(job, timeout_s=600)
        assert (result.reason, result.turns) == ("approved", 2)
        assert [message.content for message in result.dialog.messages] == ["ok", f"APPROVED: {job.id}"]
    assert client.inbox("ben") == []


def ask_ben(client, number):
    people = [Participant(participant_id="ann"), Participant(participant_id="ben", kind="human")]
    collab = Collab(title=f"No. {number}", purpose="wait for Ben", mode="pair", participants=people)
    return client.submit(collab, agents={"ann": "noop"})

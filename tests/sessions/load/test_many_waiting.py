"""Sessions that wait for a worker: one message of each is queued, and all of them end."""

from __future__ import annotations

import re

import pytest

from chaos.waiting import FEW, most_messages
from live import has_no_message, result_of, until
from symposia.config.celery import QUEUE
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import DUE, INBOX


@pytest.mark.long
@pytest.mark.timeout(300)
def test_thousand_sessions_wait_for_a_busy_worker(installation):
    sessions = 1_000
    gate = installation.folder / "gate"
    redis = connect(installation.redis_url)
    installation.start_worker(concurrency=2)
    client = installation.client
    jobs = [wait_for(client, gate, number) for number in range(sessions)]

    def check_queue():
        assert redis.llen(QUEUE) <= most_messages(redis.zcard(DUE))
        return redis

    # The grace is 2 s: by then every session was looked at several times.
    began = redis.time()[0]
    until(lambda: check_queue().time()[0] > began + 12, what="sessions are looked at")
    assert redis.llen(QUEUE) >= sessions - FEW
    redis.delete(QUEUE)
    gate.touch()
    until(lambda: check_queue().zcard(DUE) == 0, timeout_s=200, what="every session has ended")
    assert {(result.ok, result.turns) for result in (result_of(job) for job in jobs)} == {(True, 1)}


def wait_for(client, gate, number):
    """A session of one turn, which is spoken once the gate is there."""
    collab = Collab(
        title=f"No. {number}",
        purpose="wait for a worker",
        mode="round_robin",
        participants=[Participant(participant_id="ann")],
    )
    return client.submit(collab, agents={"ann": "gated"}, stop=MaxTurns(1), parameters={"gate": str(gate)})


def ask_first(client, number):
    """A session whose first speaker is a person."""
    people = [Participant(participant_id="ben", kind="human"), Participant(participant_id="ann")]
    collab = Collab(title=f"No. {number}", purpose="wait for Ben", mode="round_robin", participants=people)
    return client.submit(collab, agents={"ann": "noop"})


@pytest.mark.long
@pytest.mark.timeout(180)
def test_sessions_waiting_for_people_cost_two_messages(installation):
    sessions = 400
    redis = connect(installation.redis_url)
    client = installation.client
    for number in range(sessions):
        ask_first(client, number)
    worker = installation.start_worker()

    def parked():
        assert redis.llen(QUEUE) <= most_messages(sessions)
        return redis.zcard(INBOX)

    until(lambda: parked() == sessions, timeout_s=120, what="every session waits for Ben")
    until(lambda: not redis.llen(QUEUE) and has_no_message(redis), what="no worker has a message")
    received = len(re.findall(r"Task symposia\.(?:advance|turn)\[[^]]*\] received", worker.log()))
    assert 2 * sessions <= received <= 2 * sessions + FEW

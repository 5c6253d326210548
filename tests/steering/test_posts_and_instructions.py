"""Posts and instructions during a session."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from live import until
from servers.lossy import lossy_wire
from symposia.models.errors import InvalidInput
from symposia.models.protocol.dialog import Role
from symposia.models.sessions.stop_conditions import MaxRounds
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key
from symposia.tasks.sessions.steering import SessionSteering


def texts(job):
    return [message.content for message in job.messages()]


def notes(job, kind):
    return [event.data for event in job.collab().events if event.event_type == kind]


@pytest.fixture
def speaking(installation, tmp_path):
    """A session whose first turn runs until the gate opens."""
    gate = tmp_path / "gate"
    pool = ThreadPoolExecutor(1)

    def begin(**how):
        gated = {"agent": "gated", "parameters": {"gate": str(gate), "gate_turn": 1}}
        job = installation.submit(
            "round_robin", {"ann": gated, "bob": "parrot"}, **{"stop": MaxRounds(1), **how}
        )
        installation.deliver()
        spoken = pool.submit(installation.deliver)
        until(lambda: job.state().records[1].status == "speaking", what="the first turn speaks")
        return job, spoken

    yield begin, gate
    gate.touch()
    pool.shutdown()


def test_posted_message_is_seen_by_the_next_speaker(installation):
    job = installation.submit("round_robin", {"ann": "parrot", "bob": "parrot"}, stop=MaxRounds(1))
    installation.deliver()
    job.post("Mind the gap.", by="lena")
    installation.work()
    assert texts(job) == ["Mind the gap.", "ann after Mind the gap.", "bob after ann after Mind the gap."]
    assert notes(job, "message.posted") == [{"by": "lena", "role": "user"}]
    assert next(job.messages()).role is Role.USER


def test_message_posted_during_a_turn_follows_it(installation, speaking):
    begin, gate = speaking
    job, spoken = begin()
    job.post("Stop it.", role="system")
    job.post("Really.")
    assert texts(job) == []
    gate.touch()
    spoken.result()
    installation.work()
    assert texts(job) == ["ann speaks in turn 1", "Stop it.", "Really.", "bob after Really."]


def test_message_posted_in_the_last_turn_is_kept(speaking):
    begin, gate = speaking
    job, spoken = begin()
    job.post("Before it is too late.")
    job.cancel()
    gate.touch()
    spoken.result()
    assert texts(job) == ["Before it is too late."]


def test_change_with_a_lost_answer_is_made_once(installation, redis_url):
    job = installation.submit("round_robin", {"ann": "noop"}, stop=MaxRounds(1))
    with lossy_wire(redis_url) as wire, connect(wire.url) as losing:
        helm = SessionSteering(losing, job.id, "lena", 1_000, lambda _spec, _who: None)
        helm.post("Once.", role="user")
        helm.instruct("ann", "Be brief.")
        assert wire.lost >= 2
    assert texts(job) == ["Once."]
    assert len(notes(job, "participant.instructed")) == len(notes(job, "message.posted")) == 1
    installation.work()


def test_waiting_messages_are_capped(speaking):
    begin, gate = speaking
    job, spoken = begin()
    for number in range(100):
        job.post(f"message {number}")
    with pytest.raises(InvalidInput, match="cannot be accepted now"):
        job.post("one more")
    gate.touch()
    spoken.result()
    assert len(texts(job)) >= 101


def test_too_long_message_is_refused(installation):
    job = installation.submit("round_robin", {"ann": "parrot"}, stop=MaxRounds(1))
    with pytest.raises(InvalidInput, match="at most"):
        job.post("x" * 2_000_000)
    installation.work()


def test_instruction_holds_from_the_next_turn(installation):
    job = installation.submit("round_robin", {"ann": "noop", "bob": "noop"}, stop=MaxRounds(1))
    installation.deliver()
    job.instruct("bob", "Be brief.", by="lena")
    assert job.spec.agents["bob"].instructions == "Be brief."
    installation.work()
    told = {"participant_id": "bob", "instructions": "Be brief.", "by": "lena"}
    assert notes(job, "participant.instructed") == [told]


def test_participant_to_be_added_can_be_instructed(installation):
    job = installation.submit("round_robin", {"ann": "noop", "bob": "noop"}, stop=MaxRounds(2))
    installation.deliver()
    installation.deliver()
    job.add_participant("cyd", "noop")
    job.instruct("cyd", "Be kind.")
    job.instruct("ann", "Be brief.")
    installation.work()
    agents = job.spec.agents
    assert [agents[name].instructions for name in ("ann", "bob", "cyd")] == ["Be brief.", None, "Be kind."]


def test_repeated_request_is_applied_once(installation):
    job = installation.submit("round_robin", {"ann": "noop"}, stop=MaxRounds(1))
    for text, key in (("One.", "k1"), ("Two.", "k2"), ("One.", "k1"), ("Two.", "k2"), ("Two.", None)):
        job.post(text, key=key)
    for name, key in (("bob", "a"), ("cyd", "b"), ("bob", "a"), ("cyd", "b")):
        job.add_participant(name, "noop", key=key)
    assert texts(job) == ["One.", "Two.", "Two."]
    assert [note["participant_id"] for note in notes(job, "participant.added")] == ["bob", "cyd"]
    with pytest.raises(InvalidInput, match="twice"):
        job.add_participant("bob", "noop")
    installation.work()


def test_known_idempotency_keys_are_capped(installation, redis_url):
    job = installation.submit("round_robin", {"ann": "noop"}, stop=MaxRounds(1))
    for number in range(200):
        job.post("x", key=f"k{number}")
    with connect(redis_url) as client:
        assert len(client.hget(session_key(job.id, "session"), "posted_by")) <= 64 * 37
    job.post("x", key="k199")
    assert len(texts(job)) == 200
    installation.work()

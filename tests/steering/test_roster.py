"""Roster changes during a session: valid ones apply from the next round on and are recorded."""

from __future__ import annotations

from concurrent.futures import ThreadPoolExecutor

import pytest

from live import result_of
from symposia.models.errors import InvalidInput, SessionEnded, SessionNotFound, UnknownAgent
from symposia.models.protocol.collab import Participant
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns


def speakers(job):
    return [message.speaker for message in job.messages()]


def notes(job, kind):
    return [event.data for event in job.collab().events if event.event_type == kind]


@pytest.fixture
def trio(installation):
    """A round robin of three; two turns of its first round are written."""

    def begin(mode="round_robin", **how):
        how = {"stop": MaxRounds(2), **how}
        job = installation.submit(mode, dict.fromkeys(("ann", "bob", "cyd"), "noop"), **how)
        for _ in range(3):
            installation.deliver()
        return job

    return begin


def test_added_participant_joins_in_the_next_round(installation, trio):
    job = trio()
    job.add_participant("dan", "noop", by="lena")
    assert list(job.state().records.values())[-1].participant == "cyd"
    installation.work()
    assert speakers(job) == ["ann", "bob", "cyd", "ann", "bob", "cyd", "dan"]
    assert notes(job, "participant.added") == [{"participant_id": "dan", "agent": "noop", "by": "lena"}]
    assert notes(job, "roster.changed") == [{"participants": ["ann", "bob", "cyd", "dan"]}]
    assert [p.participant_id for p in job.collab().participants] == ["ann", "bob", "cyd", "dan"]


def test_removed_participant_finishes_the_round(installation, trio):
    job = trio()
    job.remove_participant("ann")
    installation.work()
    assert speakers(job) == ["ann", "bob", "cyd", "bob", "cyd"]
    assert [p.participant_id for p in job.collab().participants] == ["bob", "cyd"]


def test_changes_of_one_round_take_effect_together(installation, trio):
    job = trio()
    job.add_participant({"participant_id": "dan", "role_id": "critic"}, {"agent": "noop"})
    job.add_participant(Participant(participant_id="eve"), "noop")
    job.remove_participant("dan")
    job.remove_participant("bob")
    installation.work()
    assert speakers(job)[3:] == ["ann", "cyd", "eve"]
    assert len(notes(job, "roster.changed")) == 1


def test_change_before_the_first_turn_applies_at_once(installation):
    job = installation.submit("round_robin", {"ann": "noop"}, stop=MaxRounds(1))
    job.add_participant("bob", "noop")
    installation.work()
    assert speakers(job) == ["ann", "bob"]


def test_broadcast_asks_the_roster_of_the_round(installation):
    job = installation.submit("broadcast", {"ann": "noop", "bob": "noop"}, stop=MaxRounds(2))
    installation.deliver()
    installation.deliver()
    job.add_participant("cyd", "noop")
    job.remove_participant("ann")
    installation.work()
    assert sorted(speakers(job)) == ["ann", "bob", "bob", "cyd"]


def test_swarm_roster_changes_with_the_next_step(installation):
    items = [{"text": f"item {number}"} for number in range(6)]
    job = installation.submit("swarm", {"ann": "noop", "bob": "noop"}, options={"items": items})
    installation.deliver()
    job.add_participant("cyd", "noop")
    job.remove_participant("ann")
    installation.work()
    assert result_of(job).reason == "board_empty"
    said = speakers(job)
    assert len(said) == 6
    assert said.count("ann") == 1, "whoever leaves finishes what they have begun"
    assert "cyd" in said


def test_orchestrator_chooses_from_the_current_roster(installation):
    decide = [
        {"say": "go", "decision": {"next": ["bob"]}},
        {"say": "go on", "decision": {"next": ["cyd"]}},
        {"say": "done", "decision": {"satisfied": True}},
    ]
    lead = {"agent": "noop", "parameters": {"replies": decide}}
    job = installation.submit("orchestrated", {"lead": lead, "bob": "noop"}, options={"orchestrator": "lead"})
    installation.deliver()
    job.add_participant("cyd", "noop")
    with pytest.raises(InvalidInput, match="must not be the orchestrator"):
        job.remove_participant("lead")
    installation.work()
    assert speakers(job) == ["lead", "bob", "lead", "cyd", "lead"]


def test_passes_of_removed_participants_do_not_count(installation):
    passes = {"agent": "noop", "parameters": {"replies": [{"pass": True}]}}
    job = installation.submit("round_robin", {"ann": passes, "bob": "noop", "cyd": passes}, stop=MaxTurns(6))
    for _ in range(3):
        installation.deliver()
    job.remove_participant("ann")
    job.remove_participant("cyd")
    job.add_participant("dan", passes)
    installation.work()
    result = result_of(job)
    assert (result.reason, result.turns) == ("max_turns", 6)


@pytest.mark.parametrize(
    ("change", "said"),
    [
        (lambda job: job.add_participant("ann", "noop"), "participant"),
        (lambda job: job.add_participant("", "noop"), "participant"),
        (
            lambda job: job.add_participant("dan", {"agent": "noop", "code": "x"}),
            "agent.code: is not a known field",
        ),
        (lambda job: job.add_participant({"participant_id": "d", "kind": "dog"}, "noop"), "participant.kind"),
        (
            lambda job: job.remove_participant("zoe"),
            "participant: must be the id of a participant: ann, bob, cyd",
        ),
        (lambda job: job.instruct("zoe", "x"), "participant: must be the id of a participant"),
        (lambda job: job.instruct("ann", " "), "text: must not be blank"),
        (lambda job: job.post(" "), "text: must not be blank"),
        (lambda job: job.post("x\udcff"), "text: must be valid UTF-8 text"),
        (lambda job: job.post("x", role="agent"), "role: must be user or system"),
    ],
)
def test_invalid_roster_change_is_refused(trio, change, said):
    job = trio()
    before = job.state().version
    with pytest.raises(InvalidInput) as caught:
        change(job)
    assert said in str(caught.value)
    assert "\n" not in str(caught.value)
    assert job.state().version == before


def test_roster_size_of_the_mode_is_kept(installation):
    alone = installation.submit("round_robin", {"ann": "noop"}, stop=MaxRounds(1))
    with pytest.raises(InvalidInput, match="at least 1"):
        alone.remove_participant("ann")
    pair = installation.submit("pair", {"ann": "noop", "bob": "noop"}, stop=MaxRounds(1))
    with pytest.raises(InvalidInput, match="exactly 2"):
        pair.add_participant("cyd", "noop")
    installation.work()


def test_expert_cannot_leave_an_alignment_session(installation):
    job = installation.submit(
        "round_robin", {"ann": "noop", "bob": "noop"}, protocol="alignment", stop=MaxRounds(1)
    )
    with pytest.raises(InvalidInput, match="must not be an expert of the stop condition `converged`"):
        job.remove_participant("ann")
    job.cancel()


def test_agents_no_worker_knows_are_refused(installation, trio):
    installation.client._installation.sessions.workers.announce("w", ["noop", "human"])
    job = trio()
    with pytest.raises(UnknownAgent):
        job.add_participant("dan", "nope")
    job.add_participant({"participant_id": "dan", "kind": "human"})
    assert notes(job, "participant.added")[0]["agent"] == "human"


def test_ended_session_takes_no_change(installation, trio):
    job = trio()
    installation.work()
    for change in (
        lambda: job.add_participant("dan", "noop"),
        lambda: job.instruct("ann", "be brief"),
        lambda: job.post("hello?"),
    ):
        with pytest.raises(SessionEnded, match=r"has already ended \(completed\) and cannot be changed"):
            change()


def test_concurrent_steering_keeps_all_changes(installation, trio):
    job = trio()
    names = [f"new-{i}" for i in range(12)]
    with ThreadPoolExecutor(6) as pool:
        list(pool.map(lambda name: job.add_participant(name, "noop"), names))
    installation.work()
    assert sorted(speakers(job)[6:]) == sorted(names)


def test_suspended_session_can_be_steered(installation, trio):
    job = trio()
    job.suspend()
    job.add_participant("dan", "noop")
    job.post("While you are away.")
    assert len(list(job.messages())) == 2
    job.resume()
    installation.work()
    assert speakers(job) == ["ann", "bob", None, "cyd", "ann", "bob", "cyd", "dan"]


def test_cached_roster_gets_added_participants(installation, trio):
    job = trio()
    installation.runtime.sessions.facts.get(job.id)
    job.add_participant("dan", "noop")
    installation.runtime.sessions.facts.get(job.id)
    installation.work()
    assert speakers(job)[-1] == "dan"


def test_unknown_session_cannot_be_steered(installation, trio):
    job = trio()
    installation.work()
    installation.runtime.store.client.flushdb()
    with pytest.raises(SessionNotFound):
        job.add_participant("dan", "noop")
    with pytest.raises(SessionNotFound):
        job.post("hello?")

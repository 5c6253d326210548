"""Hand-offs outside of a swarm: honoured where the mode can, refused with a reason otherwise."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.simulation import Simulation, people
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns, TextSeen
from symposia.models.turns.turn import Expects, OutcomeKind

NAMES = ("ann", "bob", "cyd", "dan")


def table(*names, stop=None):
    return Simulation(CollabMode.ROUND_ROBIN, people(*names), stop=stop)


def reasons(session):
    return [(it.participant, it.to, it.reason) for it in session.refused]


def test_target_speaks_next_and_the_round_continues():
    session = table("ann", "bob", "cyd", "dan", stop=MaxRounds(2))
    session.say("ann", hand_off="cyd")
    session.run()
    assert session.spoken == ["ann", "cyd", "bob", "dan", "ann", "bob", "cyd", "dan"]


def test_target_that_has_spoken_uses_its_next_turn():
    session = table("ann", "bob", "cyd", stop=MaxRounds(2))
    session.say("ann")
    session.say("bob", hand_off="ANN")
    session.run()
    assert session.spoken == ["ann", "bob", "ann", "cyd", "bob", "cyd"]


def test_target_that_is_ahead_is_refused():
    session = table("ann", "bob", "cyd", stop=MaxRounds(2))
    session.say("ann")
    session.say("bob", hand_off="ann")
    session.say("ann", hand_off="bob")
    session.say("bob", hand_off="ann")
    session.run()
    assert session.spoken == ["ann", "bob", "ann", "bob", "cyd", "cyd"]
    assert reasons(session) == [("bob", "ann", "ann has already spoken in the next round")]


@pytest.mark.parametrize(
    ("to", "reason"),
    [
        ("ghost", "no participant has this name"),
        ("ann", "a participant cannot hand off to itself"),
        ("Ann", "a participant cannot hand off to itself"),
        ("maker", "the name is ambiguous: bob, cyd"),
    ],
)
@pytest.mark.parametrize("mode", [CollabMode.ROUND_ROBIN, CollabMode.ORCHESTRATED])
def test_hand_off_without_another_target_is_refused(mode, to, reason):
    roster = people("ann", "bob", "cyd", "lead", bob="maker", cyd="maker")
    session = Simulation(mode, roster, orchestrator="lead")
    if mode is CollabMode.ORCHESTRATED:
        session.decide("ann")
    session.say("ann", hand_off=to)
    assert reasons(session) == [("ann", to, reason)]
    assert session.next.participant == ("bob" if mode is CollabMode.ROUND_ROBIN else "lead")


def test_broadcast_refuses_every_hand_off():
    session = Simulation(CollabMode.BROADCAST, people("ann", "bob"), stop=MaxRounds(1))
    session.say("ann", hand_off="bob")
    session.say("bob", hand_off="ghost")
    refusal = "mode broadcast does not allow hand-offs"
    assert reasons(session) == [("ann", "bob", refusal), ("bob", "ghost", refusal)]
    assert session.finish.reason == "max_rounds"


def test_driver_that_hands_off_changes_roles():
    session = Simulation(CollabMode.PAIR, people("ann", "bob"), stop=MaxRounds(2))
    session.say("ann", hand_off="bob")
    assert (session.next.participant, session.next.expects) == ("bob", Expects.MESSAGE)
    session.say("bob")
    assert (session.next.participant, session.next.expects) == ("ann", Expects.REVIEW)
    session.say("ann")
    assert (session.next.participant, session.next.expects) == ("bob", Expects.MESSAGE)
    session.say("bob")
    session.decide(satisfied=True)
    assert (session.finish.reason, session.finish.detail) == ("approved", "ann approved")
    assert not session.refused


def test_handed_off_work_is_reviewed_before_the_next_hand_off():
    session = Simulation(CollabMode.PAIR, people("ann", "bob"), stop=MaxRounds(2))
    session.say("ann", hand_off="bob")
    session.say("bob", hand_off="ann")
    assert (session.next.participant, session.next.expects) == ("ann", Expects.REVIEW)
    session.say("ann", hand_off="bob")
    assert reasons(session) == [
        ("bob", "ann", "the work was handed off before, and must be reviewed first"),
        ("ann", "bob", "after a review the driver has the next turn"),
    ]


def test_orchestrator_sees_a_hand_off_until_it_decides():
    session = Simulation(CollabMode.ORCHESTRATED, people("lead", "ann", "bob"), orchestrator="lead")
    session.decide("ann")
    session.say("ann", hand_off="bob")
    told = "Hand-offs since the last decision:\n- ann hands off to bob"
    assert told in session.next.instruction
    session.decide()  # names nobody, and is sent back
    assert told in session.next.instruction
    session.decide("bob")
    session.say("bob")
    assert "hands off" not in session.next.instruction


def test_orchestrator_cannot_hand_off():
    session = Simulation(CollabMode.ORCHESTRATED, people("lead", "ann"), orchestrator="lead")
    session.say("lead", hand_off="ann")
    assert reasons(session) == [
        ("lead", "ann", "the orchestrator names the next speakers in its decision, not by hand-off")
    ]


def test_refused_hand_off_without_a_message_is_a_pass():
    session = Simulation(CollabMode.PAIR, people("ann", "bob"), stop=TextSeen("never said"))
    for name in ("ann", "bob"):
        session.turn_out(OutcomeKind.PASSED, name, hand_off="ghost")
    assert session.finish.reason == "round_of_passes"


def test_hand_offs_without_a_message_end_the_session():
    session = table("ann", "bob", "cyd", stop=TextSeen("never said"))
    to = {"ann": "bob", "bob": "ann", "cyd": "ann"}
    while session.finish is None and len(session.spoken) < 10:
        speaker = session.next.participant
        session.turn_out(OutcomeKind.PASSED, speaker, hand_off=to[speaker])
    assert session.finish is not None
    assert session.finish.reason == "round_of_passes"


@given(data=st.data(), count=st.integers(1, 4))
def test_hand_offs_keep_a_round_robin_fair(data, count):
    names = NAMES[:count]
    session = table(*names, stop=MaxRounds(4))
    while session.finish is None:
        speaker = session.next.participant
        to = data.draw(st.none() | st.sampled_from([*names, "ghost"]), label="hand off")
        refusals = len(session.refused)
        session.say(speaker, hand_off=to)
        turns = Counter(session.spoken)
        assert all(session.rounds <= turns[name] <= session.rounds + 2 for name in names)
        if session.finish is None and to is not None:
            assert session.next.participant == to or len(session.refused) > refusals
        assert len(session.spoken) <= (session.rounds + 2) * count
    turns = Counter(session.spoken)
    assert all(4 <= turns[name] <= 5 for name in names), "at most one turn more than there are rounds"


@pytest.mark.parametrize("mode", CollabMode)
@given(data=st.data())
def test_hand_off_is_taken_or_refused_once(mode, data):
    names = NAMES[: 2 if mode is CollabMode.PAIR else 3]
    session = Simulation(mode, people(*names), orchestrator="ann", stop=MaxTurns(8))
    asked = 0
    while session.finish is None:
        number = data.draw(st.sampled_from(sorted(session.open)))
        to = data.draw(st.none() | st.sampled_from([*names, "ghost"]))
        session.close(number, hand_off=to)
        asked += to is not None
        session.plan_on()
    if mode is CollabMode.SWARM:
        assert session.refused == []
    elif mode is CollabMode.BROADCAST:
        assert len(session.refused) == asked
    assert len({it.number for it in session.refused}) == len(session.refused) <= asked

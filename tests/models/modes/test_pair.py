"""Pair: driver, navigator, driver, ... until the navigator approves."""

from __future__ import annotations

from sessions.simulation import Simulation, people
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.stop_conditions import MaxTurns, TextSeen
from symposia.models.turns.turn import Decision, Expects, OutcomeKind


def session(stop=None):
    return Simulation(CollabMode.PAIR, people("dora", "nick"), stop=stop)


def test_first_participant_drives_and_second_reviews():
    pair = session()
    assert (pair.next.participant, pair.next.expects) == ("dora", Expects.MESSAGE)
    pair.say()
    assert (pair.next.participant, pair.next.expects) == ("nick", Expects.REVIEW)
    pair.say()
    assert pair.next.participant == "dora"


def test_navigator_approval_ends_the_session():
    pair = session()
    pair.say()
    pair.decide(satisfied=False, reason="not yet")
    pair.say()
    pair.decide(satisfied=True, reason="reads well")
    assert (pair.finish.reason, pair.finish.detail) == ("approved", "reads well")
    assert pair.spoken == ["dora", "nick", "dora", "nick"]


def test_the_driver_cannot_approve_its_own_work():
    pair = session()
    pair.say(decision=Decision(satisfied=True))
    assert pair.next.participant == "nick"


def test_five_revisions_are_the_default_limit():
    pair = session()
    assert pair.run().reason == "max_rounds"
    assert pair.spoken == ["dora", "nick"] * 5


def test_approval_in_the_last_round_counts():
    pair = session()
    for _ in range(9):
        pair.say()
    pair.decide(satisfied=True)
    assert pair.finish.reason == "approved"


def test_navigator_that_passes_approves_nothing():
    pair = session()
    for kind in (OutcomeKind.PASSED, OutcomeKind.SKIPPED):
        pair.say()
        pair.turn_out(kind)
    assert pair.next.participant == "dora"


def test_pair_that_only_passes_ends():
    pair = session(stop=TextSeen("never said"))
    pair.turn_out(OutcomeKind.PASSED)
    pair.turn_out(OutcomeKind.SKIPPED)
    assert pair.finish.reason == "round_of_passes"


def test_pair_that_repeats_itself_ends_unapproved():
    pair = session()
    pair.say()
    pair.decide()
    pair.say(repeats=True)
    pair.say(decision=Decision(), repeats=True)
    pair.say(repeats=True)
    assert pair.finish.reason == "repetition"


def test_turn_limit_applies_during_a_revision():
    pair = session(stop=MaxTurns(3))
    assert pair.run().reason == "max_turns"
    assert pair.spoken == ["dora", "nick", "dora"]

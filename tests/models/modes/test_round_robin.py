"""Round robin: roster order, again and again."""

from __future__ import annotations

from sessions.simulation import Simulation, people
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns
from symposia.models.turns.turn import OutcomeKind


def session(*names, stop=None):
    return Simulation(CollabMode.ROUND_ROBIN, people(*names), stop=stop)


def test_round_robin_runs_three_rounds_by_default():
    table = session("ann", "bob", "cyd")
    finish = table.run()
    assert table.spoken == ["ann", "bob", "cyd"] * 3
    assert (finish.reason, finish.aborted) == ("max_rounds", False)


def test_round_robin_has_one_speaker_at_a_time():
    table = session("ann", "bob")
    assert [(turn.participant, turn.scope) for turn in table.open.values()] == [("ann", "floor")]


def test_lone_participant_speaks_repeatedly():
    table = session("ann", stop=MaxTurns(4))
    table.run()
    assert table.spoken == ["ann"] * 4


def test_stop_may_happen_inside_a_round():
    table = session("ann", "bob", "cyd", stop=MaxTurns(4))
    assert table.run().reason == "max_turns"
    assert table.spoken == ["ann", "bob", "cyd", "ann"]


def test_pass_or_skip_only_moves_to_the_next_speaker():
    table = session("ann", "bob", "cyd")
    table.turn_out(OutcomeKind.PASSED)
    table.turn_out(OutcomeKind.SKIPPED)
    table.say()
    assert table.next.participant == "ann"


def test_full_round_of_passes_ends_the_session():
    table = session("ann", "bob", "cyd", stop=MaxRounds(100))
    table.say("ann")
    for name in ("bob", "cyd", "ann"):
        assert table.finish is None
        table.turn_out(OutcomeKind.PASSED, name)
    assert table.finish.reason == "round_of_passes"


def test_message_resets_the_count_of_passes():
    table = session("ann", "bob", stop=MaxRounds(100))
    table.turn_out(OutcomeKind.PASSED)
    table.say()
    table.turn_out(OutcomeKind.PASSED)
    assert table.finish is None

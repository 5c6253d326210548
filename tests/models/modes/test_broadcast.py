"""Broadcast: all answer at once, then the round is closed."""

from __future__ import annotations

from sessions.simulation import Simulation, people
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.options import ModeOptions
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns, TextSeen
from symposia.models.turns.turn import OutcomeKind


def session(*names, stop=None, **options):
    return Simulation(CollabMode.BROADCAST, people(*names), stop=stop, options=ModeOptions(**options))


def test_all_turns_start_at_once_on_one_snapshot():
    hall = session("ann", "bob", "cyd")
    turns = list(hall.open.values())
    assert [turn.participant for turn in turns] == ["ann", "bob", "cyd"]
    assert [turn.scope for turn in turns] == ["slot:ann", "slot:bob", "slot:cyd"]
    assert all(turn.snapshot and turn.broadcast for turn in turns)
    assert hall.steps[0].announce == "", "the purpose is what is broadcast"


def test_the_last_answer_closes_the_only_round():
    hall = session("ann", "bob", "cyd")
    for name in ("cyd", "ann"):
        hall.say(name)
        assert hall.finish is None
    hall.say("bob")
    assert (hall.finish.reason, hall.rounds) == ("max_rounds", 1)


def test_skipped_answer_still_closes_the_round():
    hall = session("ann", "bob")
    hall.turn_out(OutcomeKind.SKIPPED, "ann", error="deadline")
    hall.say("bob")
    assert hall.finish.reason == "max_rounds"


def test_debate_announces_each_further_round():
    hall = session("ann", "bob", stop=MaxRounds(3))
    hall.run()
    assert hall.spoken == ["ann", "bob"] * 3
    assert [step.announce.partition(":")[0] for step in hall.steps] == ["", "Round 2", "Round 3"]
    assert hall.planned[3].instruction == hall.steps[1].announce


def test_aggregator_speaks_last_and_ends_the_round():
    hall = session("ann", "sum", "bob", aggregator="sum", stop=MaxRounds(2))
    assert hall.waiting() == ["ann", "bob"]
    hall.say("ann")
    hall.say("bob")
    assert (hall.next.participant, hall.next.scope, hall.next.snapshot) == ("sum", "floor", False)
    hall.say("sum")
    assert hall.waiting() == ["ann", "bob"]
    assert hall.run().reason == "max_rounds"
    assert hall.spoken == ["ann", "bob", "sum"] * 2


def test_quorum_closes_the_round_and_drops_open_turns():
    hall = session("ann", "bob", "cyd", "dan", quorum=2, stop=MaxRounds(2))
    hall.say("dan")
    hall.say("bob")
    assert hall.dropped == [1, 3]
    assert hall.waiting() == ["ann", "bob", "cyd", "dan"], "round two"
    assert hall.view().totals.rounds == 1


def test_passes_do_not_count_for_a_quorum():
    hall = session("ann", "bob", "cyd", quorum=2)
    hall.say("ann")
    hall.turn_out(OutcomeKind.PASSED, "bob")
    assert hall.waiting() == ["cyd"]
    hall.say("cyd")
    assert hall.finish.reason == "max_rounds"


def test_quorum_is_followed_by_the_aggregator():
    hall = session("ann", "bob", "cyd", "sum", quorum=1, aggregator="sum")
    hall.say("bob")
    assert hall.dropped == [1, 3]
    assert hall.next.participant == "sum"
    hall.say("sum")
    assert hall.finish.reason == "max_rounds"


def test_quorum_keeps_open_turns_at_the_turn_limit():
    hall = session("ann", "bob", "sum", quorum=1, aggregator="sum", stop=MaxTurns(2))
    hall.say("ann")
    assert hall.waiting() == ["bob"]
    hall.say("bob")
    assert hall.finish.reason == "max_turns"


def test_concurrent_answers_close_the_round_once():
    hall = session("ann", "bob", "cyd", quorum=2, stop=MaxRounds(2))
    for number in (1, 2, 3):
        hall.close(number)
    hall.plan_on()
    assert hall.dropped == []
    assert hall.view().totals.rounds == 1


def test_marker_in_one_answer_lets_the_others_finish():
    hall = session("ann", "bob", stop=TextSeen("DONE"))
    hall.say("ann", text="done!")
    assert (hall.finish, hall.waiting()) == (None, ["bob"])
    hall.say("bob")
    assert hall.finish.reason == "text_seen"


def test_turn_limit_limits_the_broadcast():
    hall = session("ann", "bob", "cyd", stop=MaxTurns(5))
    hall.run()
    assert len(hall.closed) == 5


def test_lone_aggregator_answers_too():
    hall = session("sum", aggregator="sum")
    hall.run()
    assert hall.spoken == ["sum", "sum"]


def test_broadcaster_asks_before_each_round_and_does_not_answer():
    hall = session("ann", "host", "bob", broadcaster="host", aggregator="host", stop=MaxRounds(2))
    hall.run()
    assert hall.spoken == ["host", "ann", "bob", "host"] * 2
    sent = [step for step in hall.steps if step.announce is not None]
    assert [(step.announce, [turn.participant for turn in step.turns]) for step in sent] == [
        ("", ["ann", "bob"])
    ] * 2
    assert [step.announced_turn for step in sent] == [1, 5]
    assert hall.rounds == 2


def test_only_orchestrator_is_the_broadcaster():
    hall = session("orchestrator-1", "ann", "bob", stop=MaxRounds(1))
    assert [turn.participant for turn in hall.open.values()] == ["orchestrator-1"]
    hall.run()
    assert hall.spoken == ["orchestrator-1", "ann", "bob"]


def test_silent_broadcaster_leaves_the_message_to_the_user():
    hall = session("ann", "host", broadcaster="host")
    hall.turn_out(OutcomeKind.SKIPPED, "host", error="deadline")
    assert hall.waiting() == ["ann"]
    assert hall.steps[-1].announced_turn is None

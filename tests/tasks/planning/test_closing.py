"""The turn that gives the output of a session: the last one, or a closing turn after it."""

from __future__ import annotations

import json

import pytest
from hypothesis import given, settings
from hypothesis import strategies as st

from scaling import scaled_examples
from sessions.simulation import Simulation, people
from symposia.models.outputs import RequiredOutput
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.options import ModeOptions
from symposia.models.sessions.plan import OpenTurn
from symposia.models.sessions.stop_conditions import Deadline, MaxRounds, MaxTurns, TextSeen, TokenBudget
from symposia.models.turns.turn import Decision, OutcomeKind, Usage

ANY = RequiredOutput(json_schema={})


def table(*names, stop, by=None):
    rule = RequiredOutput(json_schema={}, by=by)
    return Simulation(CollabMode.ROUND_ROBIN, people(*names), stop=stop, output=rule)


def required(session):
    return [turn.participant for turn in session.planned.values() if turn.output]


@pytest.mark.parametrize("stop", [MaxRounds(2), MaxTurns(4), MaxTurns(4) | TextSeen("done")])
def test_foreseen_last_turn_gives_the_output(stop):
    session = table("ann", "bob", stop=stop)
    for _ in range(3):
        session.say()
    assert (session.next.participant, required(session)) == ("bob", ["bob"])
    session.say(has_output=True)
    assert len(session.planned) == 4
    assert session.finish.detail in ("2 of 2 rounds", "4 of 4 turns")


def test_unforeseen_end_gets_a_closing_turn_of_the_last_speaker():
    session = table("ann", "bob", stop=TextSeen("done"))
    session.say(text="done")
    assert (session.finish, session.next.participant, session.next.output) == (None, "ann", True)
    session.say(has_output=True)
    assert (session.finish.reason, session.finish.detail) == ("text_seen", "someone said 'done'")


def test_named_speaker_gives_the_closing_turn_after_the_last_turn():
    session = table("ann", "bob", stop=MaxTurns(2), by="ann")
    session.say()
    session.say()
    assert (session.next.participant, session.next.output) == ("ann", True)


def test_output_that_was_given_needs_no_closing_turn():
    session = table("ann", "bob", stop=MaxTurns(2), by="ann")
    session.say(has_output=True)
    session.say()
    assert (session.finish.reason, required(session)) == ("max_turns", [])


def test_later_message_of_the_speaker_replaces_its_output():
    session = table("ann", "bob", stop=MaxTurns(4), by="ann")
    session.say(has_output=True)
    for _ in range(3):
        session.say()
    assert required(session) == ["ann"]


@pytest.mark.parametrize("kind", [OutcomeKind.SKIPPED, OutcomeKind.PASSED])
def test_closing_turn_is_planned_once(kind):
    session = table("ann", stop=TextSeen("done"))
    session.say(text="done")
    session.turn_out(kind)
    assert (session.finish.reason, session.finish.detail) == ("text_seen", "someone said 'done'; no output")


def test_foreseen_turn_without_output_gets_no_closing_turn():
    session = table("ann", "bob", stop=MaxTurns(2))
    session.say()
    session.turn_out(OutcomeKind.SKIPPED)
    assert session.finish.detail == "2 of 2 turns; no output"


@pytest.mark.parametrize(
    ("stop", "usage"), [(TokenBudget(5), Usage(input_tokens=9)), (Deadline(60), Usage())]
)
def test_budget_and_deadline_leave_no_closing_turn(stop, usage):
    session = table("ann", "bob", stop=stop)
    session.elapsed_s = 61.0
    session.say(usage=usage)
    assert session.finish.detail.endswith("; no output")
    assert required(session) == []


def test_deadline_ends_the_closing_turn():
    session = table("ann", stop=TextSeen("done") | Deadline(60))
    session.say(text="done")
    session.elapsed_s = 61.0
    session.plan_on()
    assert (session.finish.reason, session.waiting()) == ("deadline", ["ann"])


def test_requested_stop_lets_the_speaker_close():
    session = table("ann", "bob", stop=MaxTurns(9))
    session.stop_requested = True
    session.say()
    assert session.next.output
    session.say(has_output=True)
    assert session.finish.reason == "stop_requested"


def test_failed_session_gets_no_closing_turn():
    session = table("ann", "bob", stop=MaxTurns(9))
    session.say()
    session.turn_out(OutcomeKind.FAILED, error="no")
    assert (session.finish.aborted, required(session)) == (True, [])


def test_failed_closing_turn_leaves_the_board_as_it_is():
    session = Simulation(CollabMode.SWARM, people("ann"), output=ANY)
    session.say()
    assert session.next.output
    session.turn_out(OutcomeKind.FAILED, error="invalid")
    assert (session.finish.reason, session.final_board()) == ("failed", {"Build the thing.": "done"})


def test_speaker_who_left_is_replaced_by_the_last_of_the_roster():
    session = table("ann", "bob", stop=TextSeen("done"), by="zoe")
    session.say(text="done")
    assert session.next.participant == "bob"
    session.say(has_output=True)
    assert (session.finish.detail, json.loads(session.stop_state)["output"]["turn"]) == (
        "someone said 'done'",
        2,
    )


def test_aggregator_gives_it_in_the_last_round_only():
    rule = RequiredOutput(json_schema={}, by="cyd")
    session = Simulation(
        CollabMode.BROADCAST,
        people("ann", "cyd"),
        stop=MaxRounds(2),
        options=ModeOptions(aggregator="cyd"),
        output=rule,
    )
    for _ in range(3):
        session.say()
    assert (session.next.participant, session.next.output, len(required(session))) == ("cyd", True, 1)


def test_decision_that_ends_the_session_may_carry_it():
    rule = RequiredOutput(json_schema={}, by="ann")
    session = Simulation(CollabMode.ORCHESTRATED, people("ann", "bob"), orchestrator="ann", output=rule)
    session.decide("bob")
    session.say()
    session.say(decision=Decision(satisfied=True), has_output=True)
    assert (session.finish.reason, required(session)) == ("satisfied", [])


ENDS = st.sampled_from([(kind, given) for kind in OutcomeKind for given in (False, True)])
ROSTER = {CollabMode.PAIR: people("ann", "bob")}


@settings(max_examples=scaled_examples(200))
@given(
    st.sampled_from(list(CollabMode)[:5]), st.sampled_from([None, "ann", "cyd"]), st.lists(ENDS, max_size=40)
)
def test_every_session_ends_and_requires_the_output_once_at_most(mode, by, ends):
    roster = ROSTER.get(mode, people("ann", "bob", "cyd"))
    session = Simulation(
        mode,
        roster,
        stop=MaxTurns(12),
        orchestrator="ann" if mode is CollabMode.ORCHESTRATED else None,
        output=RequiredOutput(json_schema={}, by=by),
    )
    for kind, given_output in [*ends, *[(OutcomeKind.MESSAGE, True)] * 20]:
        if session.finish:
            break
        session.turn_out(kind, session.waiting()[0], has_output=given_output and kind is OutcomeKind.MESSAGE)
    assert session.finish is not None
    assert len(required(session)) <= 1
    assert len(session.planned) - len(session.dropped) <= 13
    progress = json.loads(session.stop_state).get("output", {})
    if not session.finish.aborted and progress.get("turn") is None:
        assert session.finish.detail.endswith("no output")
    assert all(isinstance(turn, OpenTurn) for turn in session.view().open)

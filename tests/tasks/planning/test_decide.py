"""What goes first: failure, then stop conditions, then the planner."""

from __future__ import annotations

import pytest

from sessions.simulation import Simulation, people
from symposia.models.modes import check_step
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.options import ModeOptions
from symposia.models.sessions.plan import (
    FLOOR_SCOPE,
    Finish,
    OpenTurn,
    PlannedTurn,
    SessionView,
    Step,
    Totals,
    Wait,
)
from symposia.models.sessions.stop_conditions import (
    CostBudget,
    Deadline,
    MaxRounds,
    MaxTurns,
    TextSeen,
    TokenBudget,
)
from symposia.models.turns.turn import OutcomeKind, TurnResult, Usage
from symposia.tasks.planning.decide import decide


def hall(*, stop=None, **options):
    return Simulation(
        CollabMode.BROADCAST, people("ann", "bob", "cyd"), stop=stop, options=ModeOptions(**options)
    )


def table(*, stop=None):
    return Simulation(CollabMode.ROUND_ROBIN, people("ann", "bob"), stop=stop)


def view(**fields):
    return SessionView(
        mode=CollabMode.ROUND_ROBIN, purpose="p", roster=people("ann", "bob"), options=ModeOptions(), **fields
    )


def test_failure_ends_the_session_with_its_cause():
    session = hall()
    session.turn_out(OutcomeKind.FAILED, "bob", error="AgentTimeout: 30 s")
    assert session.finish == Finish(reason="failed", detail="bob: AgentTimeout: 30 s", aborted=True)
    assert session.waiting() == ["ann", "cyd"]


def test_failure_precedes_a_stop_condition():
    session = table(stop=MaxTurns(1))
    session.turn_out(OutcomeKind.FAILED)
    assert session.finish.reason == "failed"


def test_met_stop_condition_lets_open_turns_finish():
    session = hall(stop=TokenBudget(100))
    session.say("ann", usage=Usage(input_tokens=60, output_tokens=60))
    assert (session.finish, session.waiting()) == (None, ["bob", "cyd"])
    session.say("bob")
    session.say("cyd")
    assert (session.finish.reason, session.finish.detail) == ("token_budget", "120 of 100 tokens")


def test_deadline_ends_the_session_at_once():
    session = hall(stop=Deadline(60))
    session.elapsed_s = 61.0
    session.say("ann")
    assert (session.finish.reason, session.finish.detail) == ("deadline", "61 of 60 seconds")


def test_requested_stop_lets_open_turns_finish():
    session = hall()
    session.stop_requested = True
    session.say("ann")
    session.say("bob")
    assert session.finish is None
    session.say("cyd")
    assert (session.finish.reason, session.finish.aborted) == ("stop_requested", False)


def test_requested_stop_does_not_delay_a_deadline():
    session = hall(stop=Deadline(60))
    session.elapsed_s, session.stop_requested = 61.0, True
    session.say("ann")
    assert session.finish.reason == "deadline"


def test_stop_before_the_first_turn_ends_the_session():
    decided = decide(view(), MaxTurns(9), {}, stop_requested=True)
    assert decided.plan.reason == "stop_requested"


def test_session_of_skipped_turns_names_the_last_error():
    session = table(stop=MaxRounds(1))
    session.turn_out(OutcomeKind.SKIPPED, error="ValueError: no disk")
    session.turn_out(OutcomeKind.SKIPPED, error="ValueError: no net")
    detail = "2 of 2 turns failed or were skipped, last: bob: ValueError: no net; max_rounds: 1 of 1 rounds"
    assert session.finish == Finish(reason="all_turns_failed", detail=detail, aborted=True)


def test_stop_does_not_complete_a_session_of_skips():
    session = table()
    session.stop_requested = True
    session.turn_out(OutcomeKind.SKIPPED)
    assert (session.finish.reason, session.finish.aborted) == ("all_turns_failed", True)


def test_intentional_pass_completes_a_session():
    session = table()
    session.turn_out(OutcomeKind.PASSED)
    session.turn_out(OutcomeKind.SKIPPED)
    assert (session.finish.reason, session.finish.aborted) == ("round_of_passes", False)


def test_deadline_before_any_turn_cancels_the_session():
    late = view(open=(OpenTurn(number=1, participant="ann"),), totals=Totals(elapsed_s=61))
    plan = decide(late, Deadline(60), {}).plan
    assert plan == Finish(
        reason="deadline", detail="61 of 60 seconds, before any turn was completed", aborted=True
    )


def test_stop_condition_state_survives_as_json():
    session = table(stop=TextSeen("DONE", by="bob") & CostBudget(0.5))
    session.say("ann", text="done")
    session.say("bob", text="I am done.")
    session.say("ann", usage=Usage(cost_micros=400_000))
    assert session.finish is None
    session.say("bob", usage=Usage(cost_micros=100_000))
    assert session.finish.reason == "text_seen+cost_budget"
    assert session.finish.detail == "bob said 'DONE' and 0.5 of 0.5 US dollars"


def test_waiting_views_do_not_change_condition_state():
    passed = TurnResult(number=1, participant="ann", kind=OutcomeKind.PASSED)
    waiting = view(results=(passed,), open=(OpenTurn(number=2, participant="bob"),))
    assert decide(waiting, MaxTurns(9), {}).plan == Wait()
    assert decide(waiting, MaxTurns(9), {}).stop_state == {}
    assert decide(view(results=(passed,)), MaxTurns(9), {}).stop_state == {"silent": ["ann"]}


def test_the_same_view_always_gets_the_same_plan():
    first = decide(view(totals=Totals(turns=3)), MaxTurns(9), {})
    assert first == decide(view(totals=Totals(turns=3)), MaxTurns(9), {})


@pytest.mark.parametrize(
    ("fields", "step", "rule"),
    [
        ({}, Step(turns=(PlannedTurn(participant="zed"),)), "every speaker is a participant"),
        (
            {"open": (OpenTurn(number=1, participant="ann", scope="slot:ann"),)},
            Step(turns=(PlannedTurn(participant="ann", scope="item:1"),)),
            "no participant has two open turns",
        ),
        (
            {"open": (OpenTurn(number=1, participant="ann", scope="item:1"),)},
            Step(turns=(PlannedTurn(participant="bob", scope="item:1"),)),
            "no scope is locked twice",
        ),
        (
            {"open": (OpenTurn(number=1, participant="ann", scope="item:1"),)},
            Step(turns=(PlannedTurn(participant="bob", scope=FLOOR_SCOPE),)),
            "an exclusive turn is the only open turn",
        ),
        ({}, Step(turns=(PlannedTurn(participant="ann"),), drop=(7,)), "only open turns are dropped"),
        ({"turns_left": 0}, Step(turns=(PlannedTurn(participant="ann"),)), "no more turns than are left"),
        ({}, Step(), "the step makes progress"),
    ],
)
def test_invalid_step_is_refused(fields, step, rule):
    with pytest.raises(AssertionError, match=rule):
        check_step(view(**fields), step)


def test_dropped_turn_frees_its_place():
    open_turn = OpenTurn(number=1, participant="ann")
    check_step(view(open=(open_turn,)), Step(turns=(PlannedTurn(participant="bob"),), drop=(1,)))

"""Orchestrated: the orchestrator decides, those it names speak, it decides again."""

from __future__ import annotations

import json

import pytest

from sessions.simulation import Simulation, people
from symposia.models.modes import mode_of
from symposia.models.protocol.collab import CollabMode, Participant
from symposia.models.sessions.options import ModeOptions
from symposia.models.sessions.stop_conditions import MaxRounds, MaxTurns, TextSeen
from symposia.models.turns.turn import Decision, Expects, OutcomeKind


def session(*workers, stop=None, **options):
    return Simulation(
        CollabMode.ORCHESTRATED,
        people("lead", *(workers or ("coder", "tester", "writer"))),
        options=ModeOptions(**options),
        stop=stop,
        orchestrator="lead",
    )


def test_the_orchestrator_begins_with_a_decision():
    team = session()
    assert (team.next.participant, team.next.expects, team.next.scope) == ("lead", Expects.DECISION, "floor")


def test_named_speaker_gets_turn_and_instruction():
    team = session()
    team.decide("tester", instruction="break it")
    assert (team.next.participant, team.next.instruction, team.next.scope) == ("tester", "break it", "floor")
    team.say()
    assert team.next.participant == "lead"


def test_chosen_speakers_keep_order_and_instructions():
    team = session()
    team.decide("writer", "coder", "tester", instruction="go on", instructions={"coder": "write it"})
    told = []
    while team.next.participant != "lead":
        told.append((team.next.participant, team.next.instruction))
        team.say()
    assert told == [("writer", "go on"), ("coder", "write it"), ("tester", "go on")]


def test_parallel_speakers_share_one_snapshot():
    team = session()
    team.decide("coder", "tester", side_by_side=True, instructions={"tester": "break it"})
    turns = {turn.participant: turn for turn in team.open.values()}
    assert {name: turn.scope for name, turn in turns.items()} == {
        "coder": "slot:coder",
        "tester": "slot:tester",
    }
    assert all(turn.snapshot for turn in turns.values())
    assert turns["tester"].instruction == "break it"
    team.say("tester")
    assert team.waiting() == ["coder"]
    team.say("coder")
    assert team.next.participant == "lead"


def test_parallel_choice_of_one_name_is_a_normal_turn():
    team = session()
    team.decide("coder", side_by_side=True)
    assert (team.next.scope, team.next.snapshot) == ("floor", False)


def test_satisfied_orchestrator_ends_the_session():
    team = session()
    team.decide("coder")
    team.say()
    team.decide(satisfied=True, reason="all tests pass")
    assert (team.finish.reason, team.finish.detail) == ("satisfied", "all tests pass")


def test_round_is_a_decision_and_its_turns():
    team = session(stop=MaxRounds(2))
    team.decide("coder", "tester")
    team.say()
    assert team.view().totals.rounds == 0
    team.say()
    assert team.view().totals.rounds == 1
    team.decide("writer")
    team.say()
    assert (team.finish.reason, team.spoken) == ("max_rounds", ["lead", "coder", "tester", "lead", "writer"])


def test_people_may_be_named_by_role_or_display_name():
    roster = (
        Participant(participant_id="lead", role_id="orchestrator"),
        Participant(participant_id="p1", role_id="coder", display_name="Ada"),
        Participant(participant_id="p2", role_id="tester", display_name="Bob"),
    )
    team = Simulation(CollabMode.ORCHESTRATED, roster, orchestrator="lead")
    team.decide("CODER", "bob", instructions={"ada": "write it"})
    assert (team.next.participant, team.next.instruction) == ("p1", "write it")
    team.say()
    assert team.next.participant == "p2"


def test_repeated_name_is_one_turn():
    team = session()
    team.decide("coder", "coder", "tester")
    team.say()
    assert team.next.participant == "tester"
    team.say()
    assert team.next.participant == "lead"


@pytest.mark.parametrize(
    ("names", "reason"),
    [
        ((), "Your answer names no speaker."),
        (("nobody-here",), "'nobody-here' is not a participant."),
        (("lead",), "You cannot name yourself."),
        (("coder", "ghost"), "'ghost' is not a participant."),
    ],
)
def test_invalid_speaker_is_returned_with_the_reason(names, reason):
    team = session()
    team.decide(*names)
    assert (team.next.participant, team.next.expects) == ("lead", Expects.DECISION)
    assert f"Your last decision could not be used (1 of 2): {reason}" in team.next.instruction


def test_ambiguous_name_is_returned_with_the_ids():
    team = Simulation(
        CollabMode.ORCHESTRATED, people("lead", "c1", "c2", c1="coder", c2="coder"), orchestrator="lead"
    )
    team.decide("coder")
    assert "'coder' is ambiguous: c1, c2" in team.next.instruction


def test_longest_waiting_speaks_after_invalid_choices():
    team = session()
    team.decide("writer", "coder")
    team.say()
    team.say()
    for _ in range(3):
        team.decide("ghost", instruction="find out why")
    assert (team.next.participant, team.next.instruction) == ("tester", "find out why")
    team.say()
    for _ in range(3):
        team.say()
    assert team.next.participant == "writer"


def test_valid_choice_resets_the_invalid_count():
    team = session()
    for _ in range(5):
        team.decide()
        team.decide()
        team.decide("coder")
        assert team.next.participant == "coder"
        team.say()
        assert "could not be used" not in team.next.instruction


def test_passing_orchestrator_decides_nothing():
    team = session(max_invalid=1)
    team.turn_out(OutcomeKind.PASSED)
    assert "names no speaker and no end" in team.next.instruction
    team.turn_out(OutcomeKind.SKIPPED)
    assert team.next.participant == "coder"


def test_no_progress_beyond_the_limit_ends_as_stalled():
    team = session(max_stalls=2, max_replans=0)
    for _ in range(2):
        team.decide("coder", progress=False)
        team.say()
    team.decide("coder", progress=False, reason="nobody knows")
    assert (team.finish.reason, team.finish.detail) == ("stalled", "nobody knows")


@pytest.mark.parametrize(
    ("turns", "stalls"),
    [
        ([True, True], True),
        ([True, OutcomeKind.PASSED], True),
        ([True, False], False),
        ([False, True], False),
        ([OutcomeKind.PASSED, OutcomeKind.PASSED], False),
    ],
)
def test_turns_that_repeat_messages_are_a_stall(turns, stalls):
    team = session()
    team.decide("coder", "tester")
    for how in turns:
        team.turn_out(how) if isinstance(how, OutcomeKind) else team.say(repeats=how)
    team.decide("writer")
    team.say()
    assert ("Decisions without progress in a row: 1 of 3." in team.next.instruction) == stalls
    team.decide("writer", instruction="go on")
    team.say()
    assert "Decisions without progress" not in team.next.instruction


def test_members_that_only_repeat_end_as_stalled():
    team = session(max_stalls=1, stop=MaxTurns(100))
    for number in range(9):
        if team.finish is None:
            team.decide("coder", instruction=f"try {number}")
        if team.finish is None and team.next.participant == "coder":
            team.say(repeats=True)
    assert team.finish.reason == "stalled"


def test_progress_resets_the_count_of_stalls():
    team = session(max_stalls=1, stop=MaxTurns(100))
    for _ in range(4):
        team.decide("coder", progress=False)
        team.say()
        assert "Decisions without progress in a row: 1 of 1." in team.next.instruction
        team.decide("tester")
        team.say()
    assert team.finish is None


def test_invalid_choice_does_not_change_the_stalls():
    team = session(max_stalls=1, max_replans=0)
    team.decide(progress=False)
    team.decide("ghost")
    team.decide("coder", progress=False)
    assert team.finish.reason == "stalled"


def test_one_new_plan_is_requested_before_a_stall():
    team = session(max_stalls=1, stop=MaxTurns(100))
    for _ in range(2):
        team.decide("coder", progress=False)
        if team.next.participant == "coder":
            team.say()
    assert team.next.participant == "lead"
    assert "Make a new plan: what is known, what went wrong" in team.next.instruction
    team.decide("tester", progress=False)
    team.say()
    team.decide("tester", progress=False, reason="still nobody knows")
    assert (team.finish.reason, team.finish.detail) == ("stalled", "still nobody knows")


def test_successful_new_plan_resets_the_stalls():
    team = session(max_stalls=1, stop=MaxTurns(100))
    for _ in range(3):
        team.decide("coder", progress=False)
        team.say()
        team.decide("coder", progress=False)
        assert "Make a new plan" in team.next.instruction
        team.decide("tester")
        team.say()
    assert team.finish is None


def test_repeated_instruction_is_a_stall():
    team = session(max_stalls=1, max_replans=0)
    for _ in range(2):
        team.decide("coder", instruction="try again")
        team.say()
    team.decide("coder", instruction="try again")
    assert team.finish.reason == "stalled"


def test_same_choice_without_instruction_is_no_stall():
    team = session(max_stalls=1)
    for _ in range(5):
        team.decide("coder")
        team.say()
    assert team.finish is None


def test_orchestrator_sees_a_ledger_of_decisions():
    team = session()
    team.decide("coder", "tester", side_by_side=True, instruction="begin")
    team.say("coder")
    team.say("tester")
    assert team.next.instruction.splitlines() == [
        "Round 2: decide who speaks next, or that the work is done.",
        "You may choose:",
        "- coder: last spoke in turn 2",
        "- tester: last spoke in turn 3",
        "- writer: has not spoken",
        "Decided so far:",
        "- round 1: coder, tester side by side (begin)",
    ]


@pytest.mark.long
def test_ledger_size_is_bounded():
    long = "x" * 500
    roster = [
        Participant(participant_id="lead"),
        *(
            Participant(participant_id=f"{long}{i}", role_id=f"r{long}{i}", display_name=f"d{long}{i}")
            for i in range(200)
        ),
    ]
    team = Simulation(CollabMode.ORCHESTRATED, roster, orchestrator="lead", stop=MaxTurns(10_000))
    names = [p.participant_id for p in roster[1:]]
    for i in range(5):
        team.decide(*names, side_by_side=True, instruction=f"{i}" + "y" * 7_000)
        for name in team.waiting():
            team.say(name, hand_off=f"{long}{i}" if name != f"{long}{i}" else None)
    team.decide(*(f"{long}{i}" for i in range(900, 1_000)))
    assert len(team.next.instruction) < 10_000
    assert len(team.state) < 2 * sum(len(name) + 20 for name in names)


def test_skipped_worker_does_not_block_the_session():
    team = session("coder")
    team.decide("coder")
    team.turn_out(OutcomeKind.SKIPPED, error="deadline")
    assert team.next.participant == "lead"


def test_full_round_of_passes_ends_the_session():
    team = session("coder", stop=TextSeen("never said"))
    for _ in range(4):
        if team.finish is None:
            team.turn_out(OutcomeKind.PASSED)
    assert (team.finish.reason, team.spoken) == ("round_of_passes", ["lead", "lead", "lead", "coder"])


def test_lone_orchestrator_is_satisfied_or_stalls():
    alone = Simulation(CollabMode.ORCHESTRATED, people("lead"), orchestrator="lead")
    for _ in range(3):
        alone.say()
    assert (alone.finish.reason, alone.finish.detail) == ("stalled", "lead is alone and not satisfied")


def test_turn_limit_bounds_parallel_turns():
    team = session(stop=MaxTurns(3))
    team.decide("coder", "tester", "writer", side_by_side=True)
    assert team.waiting() == ["coder", "tester"]
    team.run()
    assert len(team.closed) == 3


def test_satisfied_counts_on_the_last_allowed_turn():
    team = session(stop=MaxTurns(1))
    team.say(decision=Decision(satisfied=True))
    assert team.finish.reason == "satisfied"


def test_ledger_has_turns_errors_and_hand_offs_as_data():
    team = session()
    team.decide("coder", instruction="write it")
    team.turn_out(OutcomeKind.SKIPPED, "coder", error="no disk", hand_off="tester")
    ledger = mode_of(CollabMode.ORCHESTRATED).ledger(team.view())
    assert [(it.participant, it.outcome, it.error) for it in ledger.turns] == [
        ("lead", "message", ""),
        ("coder", "skipped", "no disk"),
    ]
    assert [(it.by, it.to) for it in ledger.hand_offs] == [("coder", "tester")]
    assert [(it.next, it.instruction) for it in ledger.decisions] == [(("coder",), "write it")]
    assert "- coder hands off to tester" in team.next.instruction


def test_state_of_an_earlier_version_is_continued():
    team = session()
    team.decide("coder")
    team.say("coder")
    state = json.loads(team.state)
    state["ledger"] |= {
        "decisions": ["round 1: coder"],
        "hand_offs": ["coder hands off to tester"],
        "turns": [],
    }
    team.state = json.dumps(state)
    team.decide("tester")
    assert team.next.participant == "tester"
    team.say("tester")
    assert "- round 1: coder\n- round 2: tester" in team.next.instruction

"""Rules of every mode, for any agents and any order of answers."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.simulation import Simulation, people
from symposia.models.protocol.collab import CollabMode
from symposia.models.sessions.options import ModeOptions
from symposia.models.sessions.plan import FLOOR_SCOPE
from symposia.models.sessions.stop_conditions import MaxTurns, TextSeen
from symposia.models.turns.items import NewItem
from symposia.models.turns.turn import Decision, Expects, OutcomeKind

NAMES = ("ann", "bob", "cyd", "dan")
ROLES = ("maker", "tester")
LIMIT = 16

#: Whom an agent may name: people, roles, and names that mean nobody.
anyone = st.sampled_from([*NAMES, *ROLES, "ghost", ""])
kinds = st.sampled_from([OutcomeKind.MESSAGE] * 6 + [OutcomeKind.PASSED, OutcomeKind.SKIPPED])
new_items = st.lists(st.builds(NewItem, text=st.just("more"), role=st.none() | anyone), max_size=3).map(tuple)
decisions = st.builds(
    Decision,
    satisfied=st.integers(0, 9).map(lambda n: n == 0),
    progress=st.integers(0, 4).map(bool),
    next=st.lists(anyone, max_size=5).map(tuple),
    side_by_side=st.booleans(),
    instruction=st.sampled_from(["", "go on", "try again"]),
)


@st.composite
def sessions(draw, mode, *, stop=None):
    """A session of one mode, just opened, whose people share two roles."""
    count = 2 if mode is CollabMode.PAIR else draw(st.integers(1, len(NAMES)))
    roles = {name: draw(st.sampled_from(ROLES)) for name in NAMES[:count]}
    options = ModeOptions(
        aggregator=draw(st.none() | st.sampled_from(NAMES[:count])),
        quorum=draw(st.none() | st.integers(1, 3)),
        items=draw(new_items),
        max_items=draw(st.integers(1, 8)),
        max_hand_offs=draw(st.integers(0, 4)),
        max_ping_pong=draw(st.integers(0, 2)),
        max_stalls=draw(st.integers(1, 3)),
        max_invalid=draw(st.integers(0, 2)),
    )
    return Simulation(
        mode, people(*NAMES[:count], **roles), options=options, stop=stop, orchestrator=NAMES[0]
    )


def play(session, data, *, kinds=kinds):
    """Plays to the end: any open turn closes next, in any way, and any number close before somebody plans,
    or between somebody's look at the session and the plan that comes of it.
    """

    def close_one():
        if session.open:
            number = data.draw(st.sampled_from(sorted(session.open)), label="closes")
            session.close(number, **data.draw(outcomes(session.open[number], kinds), label="outcome"))

    while session.finish is None:
        close_one()
        if not session.open or data.draw(st.booleans(), label="plans"):
            late = session.open and data.draw(st.booleans(), label="late")
            session.plan_on(meanwhile=close_one if late else None)


def outcomes(turn, kinds):
    fields = {"kind": kinds, "text": st.sampled_from(["", "DONE"])}
    if turn.expects is not Expects.MESSAGE:
        fields["decision"] = st.none() | decisions
    if turn.item:
        fields |= {"hand_off": st.none() | anyone.filter(bool), "items": new_items}
    # Who passes or is skipped brings nothing else.
    return st.fixed_dictionaries(fields).map(
        lambda it: it if it["kind"] is OutcomeKind.MESSAGE else {"kind": it["kind"]}
    )


@pytest.mark.parametrize("mode", CollabMode)
@given(data=st.data())
def test_session_never_plans_beyond_its_turn_limit(mode, data):
    session = data.draw(sessions(mode, stop=MaxTurns(LIMIT)))
    play(session, data)
    assert len(session.closed) <= LIMIT
    assert len(session.planned) - len(session.dropped) <= LIMIT
    assert not session.open or session.finish.aborted


@pytest.mark.parametrize("mode", CollabMode)
@given(data=st.data())
def test_planner_ends_for_a_documented_reason(mode, data):
    session = data.draw(sessions(mode, stop=MaxTurns(LIMIT) | TextSeen("DONE")))
    play(session, data)
    own = {
        CollabMode.ROUND_ROBIN: set(),
        CollabMode.ORCHESTRATED: {"satisfied", "stalled"},
        CollabMode.PAIR: {"approved"},
        CollabMode.BROADCAST: set(),
        CollabMode.SWARM: {"board_empty"},
    }[mode]
    assert session.finish.reason in own | {"max_turns", "text_seen", "round_of_passes", "all_turns_failed"}
    if session.finish.reason == "max_turns":
        assert len(session.closed) == LIMIT
    if session.finish.reason in ("satisfied", "approved"):
        assert any(result.decision and result.decision.satisfied for result in session.results.values())


@pytest.mark.parametrize("mode", CollabMode)
@given(data=st.data())
def test_silent_session_ends_within_its_turn_limit(mode, data):
    session = data.draw(sessions(mode, stop=MaxTurns(LIMIT)))
    play(session, data, kinds=st.sampled_from([OutcomeKind.PASSED, OutcomeKind.SKIPPED]))
    assert session.finish.reason in {"round_of_passes", "board_empty", "stalled", "all_turns_failed"}


@pytest.mark.parametrize("mode", CollabMode)
@given(data=st.data())
def test_session_completes_only_if_a_turn_was_answered(mode, data):
    session = data.draw(sessions(mode, stop=MaxTurns(data.draw(st.integers(1, LIMIT)))))
    common, rare = OutcomeKind.SKIPPED, data.draw(st.sampled_from(OutcomeKind))
    play(session, data, kinds=st.sampled_from([common] * 4 + [rare]))
    ended = {result.kind for result in session.results.values()}
    answered = bool(ended & {OutcomeKind.MESSAGE, OutcomeKind.PASSED})
    assert session.finish.aborted == (not answered or OutcomeKind.FAILED in ended)
    assert (session.finish.reason == "all_turns_failed") == (ended == {OutcomeKind.SKIPPED})


@pytest.mark.parametrize("mode", CollabMode)
@given(data=st.data())
def test_permanent_failure_aborts_at_once(mode, data):
    session = data.draw(sessions(mode, stop=MaxTurns(LIMIT)))
    play(session, data, kinds=kinds | st.just(OutcomeKind.FAILED))
    failed = any(result.kind is OutcomeKind.FAILED for result in session.results.values())
    assert (session.finish.reason == "failed") == failed
    assert session.finish.aborted or not failed


@given(data=st.data())
def test_round_robin_follows_the_roster_positions(data):
    session = data.draw(sessions(CollabMode.ROUND_ROBIN, stop=MaxTurns(LIMIT)))
    play(session, data)
    roster = [p.participant_id for p in session.roster]
    assert session.spoken == [roster[n % len(roster)] for n in range(len(session.spoken))]


@given(data=st.data())
def test_a_pair_alternates_strictly(data):
    session = data.draw(sessions(CollabMode.PAIR, stop=MaxTurns(LIMIT)))
    play(session, data)
    assert session.spoken == [NAMES[n % 2] for n in range(len(session.spoken))]


@given(data=st.data())
def test_orchestrated_only_chosen_participants_speak(data):
    session = data.draw(sessions(CollabMode.ORCHESTRATED, stop=MaxTurns(LIMIT)))
    play(session, data)
    refused, named = 0, ()
    for number, turn in session.planned.items():
        if turn.expects is Expects.DECISION:
            assert turn.participant == NAMES[0]
            decision = session.results[number].decision if number in session.results else None
            named = decision.next if decision else ()
            refused += 1
        else:
            assert turn.participant != NAMES[0]
            role = next(p.role_id for p in session.roster if p.participant_id == turn.participant)
            assert {turn.participant, role} & set(named) or refused > session.options.max_invalid
            refused = refused if len(named) > 1 else 0
    decided = Counter(turn.expects is Expects.DECISION for turn in session.planned.values())
    # Once a round a new plan may be asked for as well.
    assert decided[True] <= (session.options.max_invalid + 2) * (session.rounds + 1)


@given(data=st.data())
def test_broadcast_asks_everyone_in_parallel(data):
    session = data.draw(sessions(CollabMode.BROADCAST, stop=MaxTurns(LIMIT)))
    play(session, data)
    for step in session.steps:
        assert len({turn.snapshot for turn in step.turns}) <= 1
        assert all((turn.scope == FLOOR_SCOPE) != turn.snapshot for turn in step.turns)
    asked = [len(step.turns) for step in session.steps if any(turn.broadcast for turn in step.turns)]
    assert asked == sorted(asked, reverse=True), "only the turn limit leaves somebody out"


@given(data=st.data())
def test_every_swarm_item_ends_once(data):
    session = data.draw(sessions(CollabMode.SWARM, stop=MaxTurns(LIMIT)))
    play(session, data)
    for entries in session.board.values():
        ends = [entry.status for entry in entries if entry.status in ("done", "dropped")]
        assert ends == [entries[-1].status], [entry.status for entry in entries]
    put_up = len(session.options.items) or 1
    added = sum(len(result.items) for result in session.results.values())
    assert len(session.board) == put_up + added
    accepted = [
        it
        for it in session.board.values()
        if it[-1].reason != f"the board is full ({session.options.max_items} items)"
    ]
    assert len(accepted) <= session.options.max_items


@given(data=st.data())
def test_swarm_items_go_to_eligible_participants_only(data):
    session = data.draw(sessions(CollabMode.SWARM, stop=MaxTurns(LIMIT)))
    play(session, data)
    roles = {p.participant_id: p.role_id for p in session.roster}
    for turn in session.planned.values():
        assert turn.item.role in (None, turn.participant, roles[turn.participant])
        assert turn.item.hand_offs <= session.options.max_hand_offs


@given(data=st.data(), count=st.integers(2, 4))
def test_swarm_gives_work_to_every_participant(data, count):
    items = tuple(NewItem(text=f"item {n}") for n in range(20))
    session = Simulation(CollabMode.SWARM, people(*NAMES[:count]), options=ModeOptions(items=items))
    while session.finish is None:
        number = data.draw(st.sampled_from(sorted(session.open)))
        session.say(session.open[number].participant)
        idle = set(NAMES[:count]) - set(session.waiting())
        started = len(session.planned)
        assert started == 20 or not idle, "with items open, nobody is left without one"


def test_swarm_with_one_item_at_a_time_alternates():
    session = Simulation(CollabMode.SWARM, people(*NAMES))
    for _ in range(12):
        session.say(items=(NewItem(text="next"),))
    assert session.spoken == [NAMES[n % 4] for n in range(12)]

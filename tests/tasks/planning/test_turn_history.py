"""The state before each turn, reconstructed from the record, plans the step that the session planned."""

from __future__ import annotations

import json

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.simulation import PURPOSE, Simulation, people
from symposia.models.errors import InvalidInput
from symposia.models.protocol.collab import CollabMode
from symposia.models.protocol.events import MapEvent
from symposia.models.sessions.options import ModeOptions
from symposia.models.sessions.plan import SessionView
from symposia.models.sessions.stop_conditions import MaxTurns, TextSeen
from symposia.models.text.ids import new_id
from symposia.models.turns.items import NewItem
from symposia.models.turns.turn import Decision, TurnResult
from symposia.tasks.planning.moment import Moment, read_past_turns
from symposia.tasks.planning.turn_history import state_before
from symposia.tasks.turns.results import format_record

from ...models.modes.test_every_planner import play, sessions

#: With all examples, those of swarms take more than a minute.
pytestmark = pytest.mark.timeout(300)

STOP = MaxTurns(12) | TextSeen("DONE")


def dispatched(number: int, participant: str) -> MapEvent:
    payload = {"turn_number": number, "participant_id": participant, "role_id": new_id()}
    return MapEvent(event_type="MAPTurnDispatched", session_id=new_id(), payload=payload)


def completed(result: TurnResult) -> MapEvent:
    about = {"outcome": result.kind.value, "error": result.error, "record": format_record(result) or None}
    payload = {"turn_number": result.number, "participant_id": result.participant, "role_id": new_id()}
    payload["result"] = {name: value for name, value in about.items() if value is not None}
    return MapEvent(event_type="MAPTurnCompleted", session_id=new_id(), payload=payload)


def past_of(session: Simulation):
    began = [dispatched(number, turn.participant) for number, turn in session.planned.items()]
    ended = [completed(session.results[number]) for number in session.closed]
    return read_past_turns(enumerate([*began, *ended]), [it[-1] for it in session.board.values()])


def view_of(session: Simulation) -> SessionView:
    return SessionView(
        mode=session.mode,
        purpose=PURPOSE,
        roster=tuple(session.roster),
        orchestrator=session.orchestrator,
        options=session.options,
    )


def moment_before(session: Simulation, number: int, start: Moment | None = None) -> Moment:
    view = view_of(session)
    return state_before(number, past_of(session), start or Moment(), view=view, stop=session.condition)


def next_step(session: Simulation, moment: Moment):
    """The step that a fork plans first, from its stored form."""
    stored = Moment.from_start(moment.to_start())
    fork = Simulation(
        session.mode, session.roster, session.options, session.stop, session.orchestrator, start=stored
    )
    return fork.steps[0] if fork.steps else None


def step_of(session: Simulation, number: int):
    first = 1
    for step in session.steps:
        if number < first + len(step.turns):
            return first, step
        first += len(step.turns)
    raise AssertionError(number)


@pytest.mark.parametrize("mode", [mode for mode in CollabMode if mode != "swarm"])
@given(data=st.data())
def test_a_fork_at_every_turn_has_the_same_next_step(mode, data):
    session = data.draw(sessions(mode, stop=STOP))
    play(session, data)
    for number in session.planned:
        first, step = step_of(session, number)
        moment = moment_before(session, number)
        assert moment.next_number == first
        # A fork begins without the turns that were open, so there is nothing to drop.
        assert next_step(session, moment) == step.model_copy(update={"drop": ()})


@given(data=st.data())
def test_a_fork_of_a_swarm_plans_the_turn_again(data):
    session = data.draw(sessions(CollabMode.SWARM, stop=STOP))
    play(session, data)
    for number, turn in session.planned.items():
        step = next_step(session, moment_before(session, number))
        # Items of turns that were open then are on the board again, so others may be planned first.
        assert step is not None
        assert step.turns
        if len(session.roster) == 1:
            assert (step.turns[0].participant, step.turns[0].item) == (turn.participant, turn.item)


@pytest.mark.parametrize("mode", CollabMode)
@given(data=st.data())
def test_a_start_is_read_as_it_was_written(mode, data):
    session = data.draw(sessions(mode, stop=STOP))
    play(session, data)
    for number in session.planned:
        moment = moment_before(session, number)
        assert Moment.from_start(moment.to_start()).to_start() == moment.to_start()


def test_a_plan_made_beside_an_unseen_turn_is_made_again():
    """The worker of turn 2 plans with what it knew when turn 2 began; turn 1 has closed since."""
    options = ModeOptions(items=tuple(NewItem(text=f"item {number}") for number in range(4)))
    session = Simulation(CollabMode.SWARM, people("ann", "bob"), options)
    session.close(2)
    session.plan_on(meanwhile=lambda: session.close(1))
    session.plan_on()
    assert [turn.participant for turn in session.planned.values()] == ["ann", "bob", "bob", "ann"]
    session.run()
    ends = {number: completed(result) for number, result in session.results.items()}
    begins = {number: dispatched(number, turn.participant) for number, turn in session.planned.items()}
    order = [begins[1], begins[2], ends[1], ends[2], begins[3], begins[4], ends[3], ends[4]]
    past = read_past_turns(enumerate(order), [it[-1] for it in session.board.values()])
    for number, seen in ((3, {1, 2}), (4, {1, 2})):
        moment = state_before(number, past, Moment(), view=view_of(session), stop=session.condition)
        assert (moment.next_number, moment.seen) == (number, seen)
        assert Moment.from_start(moment.to_start()).to_start() == moment.to_start()


def test_a_turn_that_is_not_there_is_refused():
    session = Simulation(CollabMode.ROUND_ROBIN, people("ann", "bob"), stop=MaxTurns(2))
    session.run()
    with pytest.raises(InvalidInput, match="at_turn: must be the number of a turn"):
        moment_before(session, 4)


def test_results_without_a_record_are_refused():
    """An earlier version recorded no decisions."""
    session = Simulation(CollabMode.ORCHESTRATED, people("boss", "ann", "bob"), orchestrator="boss")
    session.decide("bob")
    session.say()
    session.decide("ann")
    events = [dispatched(number, turn.participant) for number, turn in session.planned.items()]
    for number in session.closed:
        event = completed(session.results[number])
        event.payload["result"].pop("record", None)
        events.append(event)
    past = read_past_turns(enumerate(events))
    with pytest.raises(InvalidInput, match="cannot be reconstructed"):
        state_before(4, past, Moment(), view=view_of(session), stop=session.condition)


def test_plain_results_need_no_record():
    assert format_record(TurnResult(number=1, participant="ann", kind="message")) == ""


def test_a_record_keeps_what_planners_need():
    result = TurnResult(
        number=4,
        participant="ann",
        kind="message",
        decision=Decision(next=("bob",), instruction="go"),
        items=(NewItem(text="more"),),
        marks=(1,),
    )
    (read,) = read_past_turns([(1, completed(result))]).closed
    assert read == result
    assert json.loads(format_record(result)).keys() == {"decision", "items", "marks"}

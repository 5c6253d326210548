"""Replay of plans: whatever order turns close in, the recorded plans are found again."""

from __future__ import annotations

import pytest
from hypothesis import given
from hypothesis import strategies as st

from sessions.simulation import Simulation, item, people
from symposia.models.protocol.collab import Collab
from symposia.models.sessions.options import AgentBinding, ModeOptions
from symposia.models.sessions.recorded import RecordedTurn
from symposia.models.sessions.spec import SessionSpec
from symposia.models.sessions.stop_conditions import MaxTurns
from symposia.models.turns.turn import OutcomeKind
from symposia.replay.plans import PlanReplay
from symposia.replay.recorded import ClosedTurn, Timeline
from symposia.tasks.views.session_views import SessionFacts

ROSTER = people("ann", "bob", "cid")
OPTIONS = {"swarm": ModeOptions(items=(item("one"), item("two"), item("three", "bob"), item("four")))}
MODES = ("round_robin", "orchestrated", "pair", "broadcast", "swarm")


class Recorder:
    """A simulated session with the record that it would have."""

    def __init__(self, mode, choose):
        roster = ROSTER[: 2 if mode == "pair" else 3]
        lead = "ann" if mode == "orchestrated" else None
        self.session = Simulation(
            mode, roster, OPTIONS.get(mode, ModeOptions()), stop=MaxTurns(12), orchestrator=lead
        )
        self.choose = choose
        self.began: dict[int, int] = {}
        self.closed: list[ClosedTurn] = []
        self.events = 0
        self._begin()

    def _begin(self):
        for number in self.session.open:
            self.began.setdefault(number, self._event())

    def _event(self):
        self.events += 1
        return self.events

    def run(self):
        """Close turns in any order; sometimes several before the next plan."""
        session = self.session
        while not session.finish:
            self._close()
            while session.open and self.choose(st.booleans()):
                self._close()
            session.plan_on()
            self._begin()
        return self

    def _close(self):
        session = self.session
        number = self.choose(st.sampled_from(sorted(session.open)))
        turn = session.open[number]
        kind = self.choose(st.sampled_from([OutcomeKind.MESSAGE, OutcomeKind.PASSED, OutcomeKind.SKIPPED]))
        more = {}
        if session.mode == "swarm" and len(session.planned) < 8 and self.choose(st.booleans()):
            more["items"] = (item(f"more {number}"),)
        session.close(number, kind, **more)
        self.closed.append(ClosedTurn(number, turn.participant, f"t{number}", kind, None, self._event()))

    def replayed(self):
        session = self.session
        collab = Collab(
            title="A", purpose="Build the thing.", mode=session.mode, participants=list(session.roster)
        )
        spec = SessionSpec(
            agents={it.participant_id: AgentBinding(agent="noop") for it in session.roster},
            stop=session.condition,
            options=session.options,
            orchestrator=session.orchestrator,
        )
        names = {number: turn.participant for number, turn in session.planned.items()}
        timeline = Timeline(self.closed, names, self.began)
        records = {
            it.number: RecordedTurn(
                number=it.number,
                token=it.token,
                binding=AgentBinding(agent="noop"),
                planned=session.planned[it.number],
                result=session.results[it.number],
            )
            for it in self.closed
        }
        return PlanReplay(SessionFacts(collab, spec, opened_ms=0), timeline, records)


@pytest.mark.parametrize("mode", MODES)
@given(data=st.data())
def test_recorded_plans_are_found_again(data, mode):
    recorder = Recorder(mode, data.draw).run()
    plans = recorder.replayed()
    assert plans.plan(closed=0) == []
    for count, turn in enumerate(recorder.closed, 1):
        plans.close(recorder.session.results[turn.number])
        assert plans.plan(closed=count) == []
    assert plans.finish is not None
    assert plans.finish.reason == recorder.session.finish.reason

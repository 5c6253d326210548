"""`Moment` keeps the rules of `planning.lua`: both follow the same random session, side by side."""

from __future__ import annotations

import json
from collections.abc import Callable
from dataclasses import replace
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from scaling import scaled_examples
from sessions.simulation import PURPOSE, Simulation
from sessions.table import RETENTION_MS, Table
from symposia.models.protocol.collab import Collab, CollabMode
from symposia.models.sessions.plan import BoardEntry, Finish, OpenTurn, Wait
from symposia.models.sessions.spec import SessionSpec
from symposia.models.sessions.stop_conditions import MaxTurns, TextSeen
from symposia.models.text.ids import new_id
from symposia.models.turns.turn import TurnResult
from symposia.state.redis.connect import connect
from symposia.tasks.planning.advance import plan_next
from symposia.tasks.planning.decide import decide
from symposia.tasks.planning.moment import Moment
from symposia.tasks.views.session_views import SessionFacts, initial_view, session_view

from ...models.modes.test_every_planner import kinds, outcomes, sessions

STOP = MaxTurns(12) | TextSeen("DONE")


class BothSides:
    """A session in Redis, and the moment that its record leads to."""

    def __init__(self, client: Redis, session: Simulation) -> None:
        self.table = Table(client, opened=False)
        self.table.collab = Collab(
            title="Both sides", purpose=PURPOSE, mode=session.mode, participants=list(session.roster)
        ).activated()
        self.table.id = self.table.collab.collab_id
        assert self.table.open().word == "opened"
        spec = SessionSpec(
            agents={}, stop=session.condition, options=session.options, orchestrator=session.orchestrator
        )
        self.facts = SessionFacts(self.table.collab, spec, opened_ms=0)
        self.moment = Moment()
        self.is_over = False

    def close(self, number: int, *, text: str, **outcome: Any) -> None:
        """Closes an open turn."""
        turn, stop = self.moment.open[number], self.facts.spec.stop
        marks = stop.match_texts([text], turn.participant)
        result = TurnResult(
            number=number, participant=turn.participant, item=turn.item, marks=marks, **outcome
        )
        grant = self.table.grant(number, scope=turn.scope)
        written = result.model_dump_json(exclude_defaults=True)
        assert self.table.commit(grant, kind=result.kind, result=written).word == "committed"
        self.moment = self.moment.after_turn(result)

    def plan(self, meanwhile: Callable[[], None]) -> None:
        """Plans on both sides; `meanwhile` happens between view and plan."""
        state, seen = self.table.state(), self.moment
        view = seen.view(initial_view(self.facts), usage=state.usage)
        decided = decide(view, self.facts.spec.stop, seen.stop_state)
        write = plan_next(self.facts, state, parent=new_id(), retention_ms=RETENTION_MS)
        meanwhile()
        if write is None:
            assert isinstance(decided.plan, Wait)
            return
        assert self.table.store.plan(self.table.id, write).word == "planned"
        assert not isinstance(decided.plan, Wait)
        if isinstance(decided.plan, Finish):
            self.is_over = True
            return
        late = [it for it in self.moment.results if it not in seen.results]
        self.moment = seen.after_step(decided.plan, decided.stop_state)
        for result in late:
            self.moment = self.moment.after_turn(result)

    def compare(self) -> None:
        """Compares rounds, counters, board, results and open turns."""
        state, moment = self.table.state(), self.moment
        stored = session_view(self.facts, state)
        view = moment.view(initial_view(self.facts), usage=stored.totals.usage)
        assert replace(view.totals, elapsed_s=stored.totals.elapsed_s) == stored.totals
        assert (view.state, view.results) == (stored.state, stored.results)
        assert sorted(map(_shown, view.open)) == sorted(map(_shown, stored.open))
        assert (moment.rounds, moment.ends_round) == (state.rounds, state.ends_round)
        assert (moment.next_number, moment.closed, moment.skipped) == (
            state.next_number,
            state.closed,
            state.skipped,
        )
        assert moment.stop_state == json.loads(state.stop)
        board = self.table.store.board(self.table.id)
        assert _entries(moment.board) == _entries(board)


def _shown(turn: OpenTurn) -> tuple[int, str, str, str]:
    return turn.number, turn.participant, turn.scope, turn.item.model_dump_json() if turn.item else ""


def _entries(board: dict[str, str]) -> dict[str, BoardEntry]:
    return {name: BoardEntry.model_validate_json(text) for name, text in board.items()}


@pytest.mark.parametrize("mode", CollabMode)
@settings(suppress_health_check=[HealthCheck.function_scoped_fixture], max_examples=scaled_examples(40))
@given(data=st.data())
def test_moment_and_script_lead_to_the_same_state(redis_url: str, mode: CollabMode, data: st.DataObject):
    with connect(redis_url) as client:
        sides = BothSides(client, data.draw(sessions(mode, stop=STOP)))

        def close_one() -> None:
            if sides.moment.open:
                number = data.draw(st.sampled_from(sorted(sides.moment.open)), label="closes")
                outcome = outcomes(sides.moment.open[number], kinds)
                sides.close(number, **{"text": "", **data.draw(outcome, label="outcome")})

        while not sides.is_over:
            close_one()
            sides.compare()
            if not sides.moment.open or data.draw(st.booleans(), label="plans"):
                is_late = data.draw(st.booleans(), label="closes meanwhile")
                sides.plan(close_one if is_late else lambda: None)

"""Replay of a session's plans: the planner and the stop conditions of its mode, on recorded results. Pure.

A plan after a turn may have been made a little later, when turns beside it had closed as well. So a plan that does
not fit the record is put off while the record has further closed turns before the next planned turn began.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from ..models.sessions.plan import Finish, Plan, PlannedTurn, Wait
from ..models.sessions.recorded import RecordedTurn, scrub_data
from ..models.text.json_text import dump_json, parse_json
from ..models.turns.turn import TurnResult, Usage
from ..tasks.planning.decide import PlanDecision, decide
from ..tasks.planning.moment import Moment
from ..tasks.views.session_views import SessionFacts, initial_view
from .differences import data_differences, value_difference
from .recorded import Timeline

#: Maximum number of steps without turns in a row.
_MAX_EMPTY_STEPS = 100


@dataclass(slots=True)
class PlanReplay:
    """The plans of one session, replayed up to the newest closed turn."""

    facts: SessionFacts
    timeline: Timeline
    #: Records by turn number.
    records: Mapping[int, RecordedTurn]
    #: State in which the session began.
    start: Moment = field(default_factory=Moment)
    #: The session was asked to stop, at a time that is not recorded.
    stop_requested: bool = False
    finish: Finish | None = None
    _now: Moment = field(init=False)
    _usage: Usage = field(default_factory=Usage)
    #: First differences of a plan that was put off.
    _put_off: list[str] = field(default_factory=list)

    def __post_init__(self) -> None:
        self._now = self.start

    @property
    def open(self) -> Mapping[int, PlannedTurn]:
        """Return the planned turns that have not closed, by number."""
        return self._now.open

    @property
    def next_number(self) -> int:
        """Return the number of the next turn to plan."""
        return self._now.next_number

    def close(self, result: TurnResult) -> None:
        """Close an open turn with its recorded result."""
        self._now = self._now.after_turn(result)
        self._usage += result.usage

    def plan(self, *, closed: int) -> list[str]:
        """Plan what follows the first `closed` closed turns; return what differs from the record."""
        for _ in range(_MAX_EMPTY_STEPS):
            decided = self._decide()
            mismatches = self._differences(decided.plan, closed)
            if mismatches and self.stop_requested:
                stopped = self._decide(stop_requested=True)
                if not (differences := self._differences(stopped.plan, closed)):
                    decided, mismatches = stopped, differences
            if isinstance(decided.plan, Wait):
                return []
            if mismatches:
                self._put_off = self._put_off or mismatches
                return [] if self._may_put_off(closed) else self._put_off
            self._put_off = []
            if isinstance(decided.plan, Finish):
                self.finish = decided.plan
                return []
            # Stored states are JSON.
            step = decided.plan.model_copy(update={"state": parse_json(dump_json(decided.plan.state))})
            self._now = self._now.after_step(step, decided.stop_state)
            if self.open:
                return []
        return ["the plan: steps without turns do not end"]

    def _decide(self, *, stop_requested: bool = False) -> PlanDecision:
        view = self._now.view(initial_view(self.facts), usage=self._usage)
        return decide(
            view,
            self.facts.spec.stop,
            self._now.stop_state,
            stop_requested=stop_requested,
            output=self.facts.spec.output,
        )

    def _differences(self, plan: Plan, closed: int) -> list[str]:
        if isinstance(plan, Wait):
            return []
        if isinstance(plan, Finish):
            if closed == len(self.timeline.closed):
                return []
            later = self.timeline.closed[closed]
            return [
                f"the plan: the session ends ({plan.reason}), recorded is turn {later.number} ({later.participant})"
            ]
        return [
            line
            for number, turn in enumerate(plan.turns, self._now.next_number)
            for line in self._turn_differences(number, turn)
        ]

    def _turn_differences(self, number: int, turn: PlannedTurn) -> list[str]:
        record = self.records.get(number)
        if record is None:
            name = self.timeline.participants.get(number)  # None: the turn was never begun
            if name in (None, turn.participant):
                return []
            return [value_difference(f"the plan of turn {number}: participant", name, turn.participant)]
        now = PlannedTurn.model_validate(scrub_data(turn.model_dump(mode="json"), ()))
        differences = data_differences(record.planned, now, without=frozenset())
        return [f"the plan of turn {number}: {line}" for line in differences]

    def _may_put_off(self, closed: int) -> bool:
        """Return whether another turn closed before the next planned turn began."""
        if closed >= len(self.timeline.closed) or not self.open:
            return False
        began_at = self.timeline.began_at.get(self._now.next_number)
        return began_at is None or self.timeline.closed[closed].at < began_at

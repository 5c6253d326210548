"""Replay of a session's plans: the planner and the stop conditions of its mode, on recorded results. Pure.

It keeps the rules of the state in Redis: a plan consumes the results that it has seen, a `Wait` changes nothing,
and turns are numbered in the order in which they are planned.

A plan after a turn may have been made a little later, when turns beside it had closed as well. So a plan that does
not fit the record is put off while the record has further closed turns before the next planned turn began.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass, field

from pydantic import JsonValue

from ...models.sessions.plan import Finish, OpenTurn, PlannedTurn, SessionView, Step, Totals, Wait
from ...models.sessions.recorded import RecordedTurn, scrub_data
from ...models.text.json_text import dump_json, parse_json
from ...models.turns.turn import OutcomeKind, TurnResult, Usage
from ..planning.decide import decide
from ..views.session_views import SessionFacts
from .differences import data_differences, value_difference
from .timeline import Timeline

#: Maximum number of steps without turns in a row.
_MOST_EMPTY_STEPS = 100


@dataclass(slots=True)
class PlanReplay:
    """The plans of one session, replayed up to the newest closed turn."""

    facts: SessionFacts
    timeline: Timeline
    #: Records by turn number.
    records: Mapping[int, RecordedTurn]
    #: Planned turns that have not closed, by number.
    open: dict[int, PlannedTurn] = field(default_factory=dict)
    finish: Finish | None = None
    _planner: dict[str, JsonValue] = field(default_factory=dict)
    _stop: dict[str, JsonValue] = field(default_factory=dict)
    _fresh: list[TurnResult] = field(default_factory=list)
    _next: int = 1
    _closed: int = 0
    _skipped: int = 0
    _rounds: int = 0
    _usage: Usage = field(default_factory=Usage)
    _ends_round: bool = False
    #: First differences of a plan that was put off.
    _put_off: list[str] = field(default_factory=list)

    @property
    def next_number(self) -> int:
        """Return the number of the next turn to plan."""
        return self._next

    def close(self, result: TurnResult) -> None:
        """Close an open turn with its recorded result."""
        del self.open[result.number]
        self._fresh.append(result)
        self._closed += 1
        self._skipped += result.kind is OutcomeKind.SKIPPED
        self._usage += result.usage

    def plan(self, *, closed: int) -> list[str]:
        """Plan what follows the first `closed` closed turns; return what differs from the record."""
        for _ in range(_MOST_EMPTY_STEPS):
            view = self._view()
            decided = decide(view, self.facts.spec.stop, self._stop, output=self.facts.spec.output)
            if isinstance(decided.plan, Wait):
                return []
            found = self._differences(decided.plan, closed)
            if found:
                self._put_off = self._put_off or found
                return [] if self._may_put_off(closed) else self._put_off
            self._put_off = []
            self._stop, self._rounds = decided.stop_state, view.totals.rounds
            self._fresh = []
            if isinstance(decided.plan, Finish):
                self.finish = decided.plan
                return []
            self._apply(decided.plan)
            if self.open:
                return []
        return ["the plan: steps without turns do not end"]

    def _view(self) -> SessionView:
        facts = self.facts
        return SessionView(
            mode=facts.collab.mode,
            purpose=facts.collab.purpose,
            roster=facts.participants,
            orchestrator=facts.spec.orchestrator,
            options=facts.spec.options,
            state=self._planner,
            results=tuple(sorted(self._fresh, key=lambda result: result.number)),
            open=tuple(
                OpenTurn(number=number, participant=turn.participant, scope=turn.scope, item=turn.item)
                for number, turn in self.open.items()
            ),
            totals=Totals(
                turns=self._closed,
                skipped=self._skipped,
                rounds=self._rounds + (self._ends_round and not self.open),
                usage=self._usage,
            ),
        )

    def _apply(self, step: Step) -> None:
        self._planner, self._ends_round = parse_json(dump_json(step.state)), step.ends_round
        for number in step.drop:
            self.open.pop(number, None)
        for turn in step.turns:
            self.open[self._next] = turn
            self._next += 1

    def _differences(self, plan: Step | Finish, closed: int) -> list[str]:
        if isinstance(plan, Finish):
            if closed == len(self.timeline.closed):
                return []
            later = self.timeline.closed[closed]
            return [
                f"the plan: the session ends ({plan.reason}), recorded is turn {later.number} ({later.participant})"
            ]
        return [
            line
            for number, turn in enumerate(plan.turns, self._next)
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
        found = data_differences(record.planned, now, without=frozenset())
        return [f"the plan of turn {number}: {line}" for line in found]

    def _may_put_off(self, closed: int) -> bool:
        """Return whether another turn closed before the next planned turn began."""
        if closed >= len(self.timeline.closed) or not self.open:
            return False
        began_at = self.timeline.began_at.get(self._next)
        return began_at is None or self.timeline.closed[closed].at < began_at

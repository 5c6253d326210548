"""State of a session before one of its turns, from the record of its closed turns. Pure.

A planner is a pure function of the results of turns, so the planner runs again over the recorded results.

Two turns that closed at nearly the same time may have been seen by one plan or by two, and a plan that was written with
a turn saw only the turns that had closed when this turn began. Events do not show which. So each step is compared with
the turns that really followed; if it differs, the plan is made again with less knowledge, and then after the next turn.
If a later turn does not fit, the newest step that could have been another one is planned again.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterator
from dataclasses import dataclass, replace

from pydantic import JsonValue

from ...models.errors import InvalidInput
from ...models.modes.registry import mode_of
from ...models.outputs import RequiredOutput
from ...models.sessions.plan import PlannedTurn, SessionView, Step
from ...models.sessions.stop_conditions import StopCondition
from ...models.turns.turn import OutcomeKind, TurnResult, Usage
from .decide import PlanDecision, decide
from .moment import Moment, PastTurns

#: Maximum numbers of kept moments with another way on, and of returns to one of them.
_MAX_CHOICES = 100
_MAX_RETURNS = 1_000


def state_before(
    turn: int,
    past: PastTurns,
    start: Moment,
    *,
    view: SessionView,
    stop: StopCondition,
    output: RequiredOutput | None = None,
) -> Moment:
    """Return the state immediately before the step that planned a turn.

    Args:
        turn: Number of the turn.
        past: The turns of the session.
        start: State with which the session began.
        view: The roster, the options, the purpose and the mode of the session.
        stop: Its stop condition.
        output: The output that it must have.

    Raises:
        InvalidInput: There is no such turn, or the record is not complete.
    """
    return _Rerun(past, start, view, stop, output).run(turn)


@dataclass(frozen=True, slots=True)
class _Planned:
    """A step, with the moment that its planner saw."""

    seen: Moment
    step: Step
    stop_state: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class _Choice:
    """Another way on from a moment, for the case that the way taken does not fit the record."""

    before: Moment
    #: Index of the next turn to close.
    next_result: int
    #: Number of views of this moment that were tried.
    tried: int = 0
    #: A step that was planned before turns closed that it drops.
    late: _Planned | None = None


class _Rerun:
    """Planning of a whole session again, over its recorded results."""

    def __init__(
        self,
        past: PastTurns,
        start: Moment,
        view: SessionView,
        stop: StopCondition,
        output: RequiredOutput | None,
    ) -> None:
        self._past = past
        self._now = start
        self._view = view
        self._stop = stop
        self._output = output
        #: Index of the next turn to close.
        self._next = 0
        #: Oldest first.
        self._choices: deque[_Choice] = deque(maxlen=_MAX_CHOICES)
        self._returns = 0
        #: Position at which each turn closed, by number.
        self._closed_at = {result.number: at for at, result in enumerate(past.closed)}
        #: All turns of the steps so far.
        self._planned: dict[int, PlannedTurn] = {}
        self._is_side_by_side = not mode_of(view.mode).has_rounds

    def run(self, turn: int) -> Moment:
        if turn < self._now.next_number:
            raise _missing(turn)
        while True:
            planned = self._next_step(turn)
            if turn < self._now.next_number + len(planned.step.turns):
                return self._now.for_fork()
            self._apply(planned)

    def _next_step(self, turn: int) -> _Planned:
        """Close turns until the planned step is that of the session."""
        tried = 0
        while True:
            for number, seen in enumerate(self._views()):
                if number >= tried and (planned := self._plan_from(seen, number)) is not None:
                    return planned
            tried = 0
            if self._close_next():
                continue
            choice = self._return_to_choice(turn)
            if choice.late is not None:
                return choice.late
            tried = choice.tried

    def _views(self) -> Iterator[Moment]:
        """Yield what a planner may have seen: all closed turns, or those known to the worker of the last one."""
        yield self._now
        if self._is_side_by_side and (hidden := self._hidden_from_last()):
            numbers = {result.number for result in hidden}
            skipped = sum(result.kind is OutcomeKind.SKIPPED for result in hidden)
            opened = {number: self._planned[number] for number in numbers}
            yield replace(
                self._now,
                results=tuple(result for result in self._now.results if result.number not in numbers),
                open=dict(sorted({**self._now.open, **opened}.items())),
                closed=self._now.closed - len(hidden),
                skipped=self._now.skipped - skipped,
                seen=self._now.seen - numbers,
            )

    def _hidden_from_last(self) -> list[TurnResult]:
        """Return the results, which no plan has seen, of turns that closed while the last closed turn ran."""
        if not self._now.results or not self._next:
            return []
        last = self._past.closed[self._next - 1].number
        closed_before = self._past.closed_before.get(last, 0)
        return [
            result
            for result in self._now.results
            if result.number != last
            and result.number in self._planned
            and self._closed_at[result.number] >= closed_before
        ]

    def _plan_from(self, seen: Moment, number: int) -> _Planned | None:
        """Return the step that a planner makes of what it has seen, if it is that of the session."""
        decided = self._decide(seen)
        if not isinstance(step := decided.plan, Step):
            return None
        if self._is_true(step):
            if self._now.open or len(self._now.results) > 1:
                self._choices.append(_Choice(self._now, self._next, tried=number + 1))
            return _Planned(seen, step, decided.stop_state)
        if late := self._without_closed(step):
            planned = _Planned(seen, late, decided.stop_state)
            self._choices.append(_Choice(self._now, self._next, late=planned))
        return None

    def _apply(self, planned: _Planned) -> None:
        """Apply a step. Turns that had closed, and that its planner did not see, are left for the next plan."""
        hidden = [result for result in self._now.results if result.number in planned.seen.open]
        self._planned.update(enumerate(planned.step.turns, self._now.next_number))
        self._now = planned.seen.after_step(planned.step, planned.stop_state)
        for result in hidden:
            self._now = self._now.after_turn(result)

    def _close_next(self) -> bool:
        """Close the next turn; False: there is none, or it is not open, so an earlier step was another one."""
        if self._next == len(self._past.closed) or not self._close(self._past.closed[self._next]):
            return False
        self._next += 1
        return True

    def _return_to_choice(self, turn: int) -> _Choice:
        """Return to the newest moment from which there is another way on."""
        self._returns += 1
        if not self._choices or self._returns > _MAX_RETURNS:
            if self._next == len(self._past.closed):
                raise _missing(turn)
            rule = "cannot be reconstructed: an earlier version wrote the session, or a planner has changed"
            raise InvalidInput("at_turn", self._past.closed[self._next].number, rule)
        choice = self._choices.pop()
        self._now, self._next = choice.before, choice.next_result
        return choice

    def _decide(self, seen: Moment) -> PlanDecision:
        decided = self._plan(seen)
        if self._output is not None and not self._is_planned(decided):
            closing = self._plan(seen, stop_requested=True)
            return closing if self._is_planned(closing) else decided
        return decided

    def _is_planned(self, decided: PlanDecision) -> bool:
        return isinstance(decided.plan, Step) and self._is_true(decided.plan)

    def _plan(self, seen: Moment, *, stop_requested: bool = False) -> PlanDecision:
        # Without usage and time: their limits did not end the session before a turn that it planned.
        view = seen.view(self._view, usage=Usage())
        return decide(view, self._stop, seen.stop_state, stop_requested=stop_requested, output=self._output)

    def _is_true(self, step: Step) -> bool:
        """Return whether the turns of a step, and those it drops, are those of the session."""
        if self._closed_at.keys() & set(step.drop):
            return False
        numbers = range(self._now.next_number, self._now.next_number + len(step.turns))
        is_same = all(map(self._is_known_turn, numbers, step.turns))
        return is_same and bool(step.turns or step.state != self._now.state)

    def _without_closed(self, step: Step) -> Step | None:
        """Return a step that drops none of the turns that closed; None: it is not one of the session either."""
        kept = tuple(number for number in step.drop if number not in self._closed_at)
        late = step.model_copy(update={"drop": kept})
        return late if kept != step.drop and self._is_true(late) else None

    def _is_known_turn(self, number: int, planned: PlannedTurn) -> bool:
        item = planned.item.item_id if planned.item else ""
        return (
            self._past.speakers.get(number, planned.participant) == planned.participant
            and self._past.items.get(number, item) == item
        )

    def _close(self, result: TurnResult) -> bool:
        """Close a turn; False: it is not open, so an earlier step was another one."""
        planned = self._now.open.get(result.number)
        if planned is None or planned.participant != result.participant:
            return False
        self._now = self._now.after_turn(result.model_copy(update={"item": planned.item}))
        return True


def _missing(turn: int) -> InvalidInput:
    return InvalidInput("at_turn", turn, "must be the number of a turn of the session")

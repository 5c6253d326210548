"""State of a session before one of its turns, from the record of its closed turns. Pure.

A planner is a pure function of the results of turns, so the planner runs again over the recorded results. Events
record how each turn closed; for a result with more than its outcome (a decision, a hand-off, new items, marks),
the event also has that part, as `record`.

Two turns that closed at nearly the same time may have been seen by one plan or by two. Events do not show which. So each
step is compared with the turns that really followed; if it differs, the plan is made again after the next turn. If a
later turn does not fit, the newest step that could have been planned later is put off.
"""

from __future__ import annotations

from collections import deque
from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field
from typing import Any

from pydantic import JsonValue

from ...models.errors import InvalidInput
from ...models.outputs.required import RequiredOutput
from ...models.protocol.events import MapEvent, MAPEventType
from ...models.sessions.plan import BoardEntry, PlannedTurn, SessionView, Step
from ...models.sessions.stop_conditions import StopCondition
from ...models.text.json_text import dump_json, parse_json
from ...models.turns.turn import OutcomeKind, TurnResult, Usage
from .decide import PlanDecision, decide
from .moment import Moment

#: Fields of a result that its event has, or that the plan has.
_KNOWN = {"number", "participant", "kind", "usage", "left_out", "error", "item", "remember"}
_KINDS = {*OutcomeKind}
#: Maximum numbers of kept moments with another way on, and of returns to one of them.
_MAX_CHOICES = 100
_MAX_RETURNS = 1_000


def format_record(result: TurnResult) -> str:
    """Return the part of a result that only planners and stop conditions need, as JSON; empty: no such part."""
    text = result.model_dump_json(exclude=_KNOWN, exclude_defaults=True)
    return "" if text == "{}" else text


@dataclass(frozen=True, slots=True)
class PastTurns:
    """The turns of a session, as its events record them."""

    #: Participants of the turns that began, by number.
    speakers: Mapping[int, str]
    #: Milliseconds since the epoch at which each turn began first.
    began_ms: Mapping[int, int]
    #: Results in the order in which the turns closed, without their items.
    closed: tuple[TurnResult, ...]
    #: Id of the work item of a turn, by number, as far as it is known.
    items: Mapping[int, str] = field(default_factory=dict)


def read_past_turns(events: Iterable[tuple[int, MapEvent]], board: Iterable[BoardEntry] = ()) -> PastTurns:
    """Return the turns of a session from its events, with their times in milliseconds, and from its board.

    Raises:
        ValidationError: A record is not valid.
    """
    speakers: dict[int, str] = {}
    began: dict[int, int] = {}
    closed: dict[int, TurnResult] = {}
    for at_ms, event in events:
        payload: Mapping[str, Any] = event.payload or {}
        if event.event_type is MAPEventType.TURN_DISPATCHED:
            speakers[payload["turn_number"]] = payload["participant_id"]
            began.setdefault(payload["turn_number"], at_ms)
        elif (result := written_result(event)) is not None:
            closed[payload["turn_number"]] = _result(payload, result)
    items = {it.turn_number: it.item.item_id for it in board if it.turn_number is not None}
    return PastTurns(speakers, began, tuple(closed.values()), items)


def written_result(event: MapEvent) -> Mapping[str, Any] | None:
    """Return how a turn was written, if this is the event of that; None: of an attempt that is run again, or another."""
    if event.event_type is not MAPEventType.TURN_COMPLETED:
        return None
    payload: Mapping[str, Any] = event.payload or {}
    result: Mapping[str, Any] = payload.get("result") or {}
    return result if result.get("outcome") in _KINDS and not result.get("retried") else None


def _result(payload: Mapping[str, Any], result: Mapping[str, Any]) -> TurnResult:
    data = {
        **parse_json(result.get("record") or "{}"),
        "number": payload["turn_number"],
        "participant": payload["participant_id"],
        "kind": result["outcome"],
        "error": result.get("error"),
    }
    return TurnResult.model_validate_json(dump_json(data))


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
class _Choice:
    """Another way on from a moment, for the case that the way taken does not fit the record."""

    before: Moment
    #: Index of the next turn to close.
    next_result: int
    #: A step that was planned before turns closed that it drops. None: no step was planned until another turn closed.
    step: Step | None = None
    stop_state: dict[str, JsonValue] = field(default_factory=dict)


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
        self._outcomes = {result.number for result in past.closed}

    def run(self, turn: int) -> Moment:
        if turn < self._now.next_number:
            raise _missing(turn)
        while True:
            step, stop_state = self._next_step(turn)
            if turn < self._now.next_number + len(step.turns):
                return self._now.for_fork()
            self._now = self._now.after_step(step, stop_state)

    def _next_step(self, turn: int) -> tuple[Step, dict[str, JsonValue]]:
        """Close turns until the planned step is that of the session; return it with the state of the stop conditions."""
        may_plan = True
        while True:
            if may_plan and isinstance(step := (decided := self._decide()).plan, Step):
                if self._is_true(step):
                    if self._now.open:
                        self._choices.append(_Choice(self._now, self._next))
                    return step, decided.stop_state
                if late := self._without_closed(step):
                    self._choices.append(_Choice(self._now, self._next, late, decided.stop_state))
            may_plan = True
            if self._close_next():
                continue
            choice = self._return_to_choice(turn)
            if choice.step is not None:
                return choice.step, choice.stop_state
            may_plan = False

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

    def _decide(self) -> PlanDecision:
        decided = self._plan()
        if self._output is not None and not self._is_planned(decided):
            closing = self._plan(stop_requested=True)
            return closing if self._is_planned(closing) else decided
        return decided

    def _is_planned(self, decided: PlanDecision) -> bool:
        return isinstance(decided.plan, Step) and self._is_true(decided.plan)

    def _plan(self, *, stop_requested: bool = False) -> PlanDecision:
        # Without usage and time: their limits did not end the session before a turn that it planned.
        view = self._now.view(self._view, usage=Usage())
        return decide(
            view, self._stop, self._now.stop_state, stop_requested=stop_requested, output=self._output
        )

    def _is_true(self, step: Step) -> bool:
        """Return whether the turns of a step, and those it drops, are those of the session."""
        if self._outcomes.intersection(step.drop):
            return False
        numbers = range(self._now.next_number, self._now.next_number + len(step.turns))
        is_same = all(map(self._is_known_turn, numbers, step.turns))
        return is_same and bool(step.turns or step.state != self._now.state)

    def _without_closed(self, step: Step) -> Step | None:
        """Return a step that drops none of the turns that closed; None: it is not one of the session either."""
        kept = tuple(number for number in step.drop if number not in self._outcomes)
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

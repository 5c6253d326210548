"""State of a session before one of its turns, from the record of its closed turns. Pure.

A planner is a pure function of the results of turns, so the planner runs again over the recorded results. Events
record how each turn closed; for a result with more than its outcome (a decision, a hand-off, new items, marks),
the event also has that part, as `record`.

Two turns that closed at nearly the same time may have been seen by one plan or by two. Events do not tell. So each
step is compared with the turns that really followed; if it differs, the plan is made again after the next turn.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import JsonValue

from ...models.errors import InvalidInput
from ...models.outputs.required import RequiredOutput
from ...models.protocol.events import MapEvent, MAPEventType
from ...models.sessions.plan import BoardEntry, OpenTurn, PlannedTurn, SessionView, Step, Totals
from ...models.sessions.stop_conditions import StopCondition
from ...models.text.json_text import dump_json, parse_json
from ...models.turns.turn import OutcomeKind, TurnResult, Usage
from .decide import PlanDecision, decide

#: Fields of a result that its event has, or that the plan has.
_KNOWN = {"number", "participant", "kind", "usage", "left_out", "error", "item", "remember"}
_KINDS = {*OutcomeKind}


def format_record(result: TurnResult) -> str:
    """Return the part of a result that only planners and stop conditions need, as JSON; empty: no such part."""
    data = result.model_dump(mode="json", exclude=_KNOWN, exclude_defaults=True)
    return dump_json(data) if data else ""


@dataclass(frozen=True, slots=True)
class PastTurns:
    """What the events of a session tell of its turns."""

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
        elif event.event_type is MAPEventType.TURN_COMPLETED:
            result = payload.get("result") or {}
            if result.get("outcome") in _KINDS and not result.get("retried"):
                closed[payload["turn_number"]] = _result(payload, result)
    items = {it.turn_number: it.item.item_id for it in board if it.turn_number is not None}
    return PastTurns(speakers, began, tuple(closed.values()), items)


def _result(payload: Mapping[str, Any], result: Mapping[str, Any]) -> TurnResult:
    data = {
        **parse_json(result.get("record") or "{}"),
        "number": payload["turn_number"],
        "participant": payload["participant_id"],
        "kind": result["outcome"],
        "error": result.get("error"),
    }
    return TurnResult.model_validate_json(dump_json(data))


@dataclass(slots=True)
class Moment:
    """State of a session immediately before a step is planned."""

    state: dict[str, JsonValue] = field(default_factory=dict)
    stop_state: dict[str, JsonValue] = field(default_factory=dict)
    rounds: int = 0
    #: True: a round ends when all open turns have closed.
    ends_round: bool = False
    next_number: int = 1
    closed: int = 0
    skipped: int = 0
    #: Results that no plan has seen.
    results: tuple[TurnResult, ...] = ()
    open: dict[int, PlannedTurn] = field(default_factory=dict)
    #: Item id -> board entry as JSON.
    board: dict[str, str] = field(default_factory=dict)
    #: Numbers of all closed turns so far.
    seen: frozenset[int] = frozenset()

    def to_start(self) -> str:
        """Return the hashes of a session that begins in this moment, as JSON for the script `open`."""
        fields = {
            "planner": dump_json(self.state),
            "stop": dump_json(self.stop_state),
            "rounds": str(self.rounds),
            "ends_round": "1" if self.ends_round else "0",
            "next": str(self.next_number),
            "closed": str(self.closed),
            "skipped": str(self.skipped),
        }
        turns: dict[str, str] = {}
        for result in self.results:
            record = {"participant": result.participant, "scope": "", "status": "closed", "settled_ms": 0}
            turns[str(result.number)] = dump_json({**record, "grants": 0, "failures": 0, "dispatches": 0})
            turns[f"{result.number}:result"] = result.model_dump_json(exclude_defaults=True)
        return dump_json({"fields": fields, "turns": turns, "board": self.board})

    @classmethod
    def from_start(cls, start: str) -> Moment:
        """Return the moment in which a session began, from the text of `to_start`."""
        stored = parse_json(start)
        fields, turns = stored["fields"], stored["turns"]
        return cls(
            state=parse_json(fields["planner"]),
            stop_state=parse_json(fields["stop"]),
            rounds=int(fields["rounds"]),
            ends_round=fields["ends_round"] == "1",
            next_number=int(fields["next"]),
            closed=int(fields["closed"]),
            skipped=int(fields["skipped"]),
            results=tuple(
                TurnResult.model_validate_json(text) for name, text in turns.items() if ":" in name
            ),
            board=stored["board"],
        )

    def without_open_turns(self) -> Moment:
        """Return the moment for a session in which no turn is open: those of this moment were never planned."""
        return replace(self, open={})


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
        #: Plans that may have been made before turns closed that they drop, with the state and the index then.
        self._late: list[tuple[Moment, int, Step, dict[str, JsonValue]]] = []
        self._outcomes = {result.number for result in past.closed}

    def run(self, turn: int) -> Moment:
        if turn < self._now.next_number:
            raise _missing(turn)
        while True:
            decided = self._plan()
            plan = decided.plan
            if isinstance(plan, Step) and self._is_true(plan):
                if turn < self._now.next_number + len(plan.turns):
                    return self._now.without_open_turns()
                self._apply(plan, decided.stop_state)
                continue
            if isinstance(plan, Step) and (late := self._as_late(plan)):
                self._late.append((self._now, self._next, late, decided.stop_state))
            if self._next == len(self._past.closed):
                raise _missing(turn)
            if self._close(self._past.closed[self._next]):
                self._next += 1
                continue
            self._now, self._next, late, observed = self._late.pop()
            if turn < self._now.next_number + len(late.turns):
                return self._now.without_open_turns()
            self._apply(late, observed)

    def _plan(self) -> PlanDecision:
        # Without usage and time: their limits did not end the session before a turn that it planned.
        now = self._now
        opened = tuple(
            OpenTurn(number=number, participant=it.participant, scope=it.scope, item=it.item)
            for number, it in now.open.items()
        )
        ended = now.ends_round and not now.open
        view = replace(
            self._view,
            state=now.state,
            results=tuple(sorted(now.results, key=lambda result: result.number)),
            open=opened,
            totals=Totals(turns=now.closed, skipped=now.skipped, rounds=now.rounds + ended, usage=Usage()),
        )
        return decide(view, self._stop, now.stop_state, output=self._output)

    def _is_true(self, step: Step) -> bool:
        """Return whether the turns of a step, and those it drops, are those of the session."""
        if self._outcomes.intersection(step.drop):
            return False
        numbers = range(self._now.next_number, self._now.next_number + len(step.turns))
        is_same = all(map(self._is_known_turn, numbers, step.turns))
        return is_same and bool(step.turns or step.state != self._now.state)

    def _as_late(self, step: Step) -> Step | None:
        """Return a step without the turns that closed while it was planned; None: it dropped none of these."""
        kept = tuple(number for number in step.drop if number not in self._outcomes)
        late = step.model_copy(update={"drop": kept})
        return late if kept != step.drop and self._is_true(late) else None

    def _is_known_turn(self, number: int, planned: PlannedTurn) -> bool:
        item = planned.item.item_id if planned.item else ""
        return (
            self._past.speakers.get(number, planned.participant) == planned.participant
            and self._past.items.get(number, item) == item
        )

    def _apply(self, step: Step, observed: dict[str, JsonValue]) -> None:
        now = self._now
        opened = {number: it for number, it in now.open.items() if number not in step.drop}
        ended = now.ends_round and not now.open
        self._now = replace(
            now,
            state=step.state,
            stop_state=observed,
            rounds=now.rounds + ended,
            ends_round=step.ends_round,
            next_number=now.next_number + len(step.turns),
            results=(),
            open={**opened, **dict(enumerate(step.turns, now.next_number))},
            board={
                **now.board,
                **{it.item.item_id: it.model_dump_json(exclude_none=True) for it in step.board},
            },
        )

    def _close(self, result: TurnResult) -> bool:
        """Close a turn; False: it is not open, so an earlier plan was another one."""
        now = self._now
        planned = now.open.get(result.number)
        if planned is None or planned.participant != result.participant:
            if self._late:
                return False
            rule = "cannot be reconstructed: an earlier version wrote the session, or a planner has changed"
            raise InvalidInput("at_turn", result.number, rule)
        self._now = replace(
            now,
            open={number: it for number, it in now.open.items() if number != result.number},
            results=(*now.results, result.model_copy(update={"item": planned.item})),
            closed=now.closed + 1,
            skipped=now.skipped + (result.kind is OutcomeKind.SKIPPED),
            seen=now.seen | {result.number},
        )
        return True


def _missing(turn: int) -> InvalidInput:
    return InvalidInput("at_turn", turn, "must be the number of a turn of the session")

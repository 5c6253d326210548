"""State of a session between two steps, as planning again over recorded results needs it, and these results. Pure.

It keeps the rules of the state in Redis: a plan consumes the results that it has seen, and turns are numbered in the
order in which they are planned.

Events record how each turn closed. For a result with more than its outcome (a decision, a hand-off, new items, marks),
the event also has that part, as `record`.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass, field, replace
from typing import Any

from pydantic import JsonValue

from ...models.protocol.events import MapEvent, MAPEventType
from ...models.sessions.plan import BoardEntry, OpenTurn, PlannedTurn, SessionView, Step, Totals
from ...models.text.json_text import dump_json, parse_json
from ...models.turns.turn import OutcomeKind, TurnResult, Usage
from .decide import forget_output


@dataclass(frozen=True, slots=True)
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

    def view(self, session: SessionView, *, usage: Usage) -> SessionView:
        """Return what the planner sees now: `session` with this state, and the usage of all closed turns."""
        ended = self.ends_round and not self.open
        return replace(
            session,
            state=self.state,
            results=tuple(sorted(self.results, key=lambda result: result.number)),
            open=tuple(
                OpenTurn(number=number, participant=turn.participant, scope=turn.scope, item=turn.item)
                for number, turn in self.open.items()
            ),
            totals=Totals(turns=self.closed, skipped=self.skipped, rounds=self.rounds + ended, usage=usage),
        )

    def after_step(self, step: Step, stop_state: dict[str, JsonValue]) -> Moment:
        """Return the moment after a step was planned, which consumes the results."""
        kept = {number: turn for number, turn in self.open.items() if number not in step.drop}
        return replace(
            self,
            state=step.state,
            stop_state=stop_state,
            rounds=self.rounds + (self.ends_round and not self.open),
            ends_round=step.ends_round,
            next_number=self.next_number + len(step.turns),
            results=(),
            open={**kept, **dict(enumerate(step.turns, self.next_number))},
            board={
                **self.board,
                **{entry.item.item_id: entry.model_dump_json(exclude_none=True) for entry in step.board},
            },
        )

    def after_turn(self, result: TurnResult) -> Moment:
        """Return the moment after an open turn has closed."""
        return replace(
            self,
            open={number: turn for number, turn in self.open.items() if number != result.number},
            results=(*self.results, result),
            closed=self.closed + 1,
            skipped=self.skipped + (result.kind is OutcomeKind.SKIPPED),
            seen=self.seen | {result.number},
        )

    def for_fork(self) -> Moment:
        """Return the moment for a fork: the open turns were never planned, and no turn has given the output."""
        return replace(
            self,
            open={},
            stop_state=forget_output(self.stop_state),
            results=tuple(result.model_copy(update={"has_output": False}) for result in self.results),
        )


_KINDS = {*OutcomeKind}


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
    #: Number of turns that had closed when the last attempt of a turn began, by number.
    closed_before: Mapping[int, int] = field(default_factory=dict)


def read_past_turns(events: Iterable[tuple[int, MapEvent]], board: Iterable[BoardEntry] = ()) -> PastTurns:
    """Return the turns of a session from its events, with their times in milliseconds, and from its board.

    Raises:
        ValidationError: A record is not valid.
    """
    speakers: dict[int, str] = {}
    began: dict[int, int] = {}
    closed: dict[int, TurnResult] = {}
    closed_before: dict[int, int] = {}
    for at_ms, event in events:
        payload: Mapping[str, Any] = event.payload or {}
        if event.event_type is MAPEventType.TURN_DISPATCHED:
            speakers[payload["turn_number"]] = payload["participant_id"]
            began.setdefault(payload["turn_number"], at_ms)
            closed_before[payload["turn_number"]] = len(closed)
        elif (result := written_result(event)) is not None:
            closed[payload["turn_number"]] = _result(payload, result)
    items = {entry.turn_number: entry.item.item_id for entry in board if entry.turn_number is not None}
    return PastTurns(speakers, began, tuple(closed.values()), items, closed_before)


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

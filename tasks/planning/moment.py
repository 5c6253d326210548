"""State of a session between two steps, as planning again over recorded results needs it. Pure.

It keeps the rules of the state in Redis: a plan consumes the results that it has seen, and turns are numbered in the
order in which they are planned.
"""

from __future__ import annotations

from dataclasses import dataclass, field, replace

from pydantic import JsonValue

from ...models.sessions.plan import OpenTurn, PlannedTurn, SessionView, Step, Totals
from ...models.text.json_text import dump_json, parse_json
from ...models.turns.turn import OutcomeKind, TurnResult, Usage
from .closing import forget_output


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
                OpenTurn(number=number, participant=it.participant, scope=it.scope, item=it.item)
                for number, it in self.open.items()
            ),
            totals=Totals(turns=self.closed, skipped=self.skipped, rounds=self.rounds + ended, usage=usage),
        )

    def after_step(self, step: Step, stop_state: dict[str, JsonValue]) -> Moment:
        """Return the moment after a step was planned, which consumes the results."""
        kept = {number: it for number, it in self.open.items() if number not in step.drop}
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
                **{it.item.item_id: it.model_dump_json(exclude_none=True) for it in step.board},
            },
        )

    def after_turn(self, result: TurnResult) -> Moment:
        """Return the moment after an open turn has closed."""
        return replace(
            self,
            open={number: it for number, it in self.open.items() if number != result.number},
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

"""A session in memory: `decide` plans, and the test answers turns in any order.

It keeps the rules of the state in Redis: what a plan has seen is consumed with it and nothing
else, a plan that waits changes nothing, and state survives only as JSON.
"""

from __future__ import annotations

import json
from collections import Counter
from collections.abc import Callable, Sequence
from dataclasses import dataclass, field
from typing import Any

from symposia.models.modes import effective_stop
from symposia.models.outputs import RequiredOutput
from symposia.models.protocol.collab import CollabMode, Participant
from symposia.models.sessions.options import ModeOptions
from symposia.models.sessions.plan import (
    FLOOR_SCOPE,
    BoardEntry,
    Finish,
    OpenTurn,
    PlannedTurn,
    RefusedHandOff,
    SessionView,
    Step,
    Totals,
    Wait,
)
from symposia.models.sessions.stop_conditions import StopCondition
from symposia.models.turns.items import NewItem
from symposia.models.turns.turn import Decision, OutcomeKind, TurnResult, Usage
from symposia.tasks.planning.decide import decide
from symposia.tasks.planning.moment import Moment

PURPOSE = "Build the thing."


def people(*names: str, **roles: str) -> tuple[Participant, ...]:
    """Participants by id; `roles` gives some of them a role of another name."""
    return tuple(Participant(participant_id=name, role_id=roles.get(name, name)) for name in names)


@dataclass
class Simulation:
    """A session; `request_planning` after what was closed, as a worker does."""

    mode: CollabMode
    roster: Sequence[Participant]
    options: ModeOptions = field(default_factory=ModeOptions)
    stop: StopCondition | None = None
    orchestrator: str | None = None
    output: RequiredOutput | None = None
    #: Where a fork begins.
    start: Moment = field(default_factory=Moment)

    def __post_init__(self) -> None:
        self.condition = effective_stop(self.mode, self.stop)
        start = self.start
        self.state, self.stop_state = json.dumps(start.state), json.dumps(start.stop_state)
        self.open: dict[int, PlannedTurn] = {}
        self.fresh: list[TurnResult] = list(start.results)
        #: Every turn ever planned, by number, and the numbers in the order of their closing.
        self.planned: dict[int, PlannedTurn] = {}
        self.closed: list[int] = []
        self.results: dict[int, TurnResult] = {}
        self.dropped: list[int] = []
        self.board: dict[str, list[BoardEntry]] = {}
        self.steps: list[Step] = []
        self.finish: Finish | None = None
        self.refused: list[RefusedHandOff] = []
        self.rounds, self.usage, self.elapsed_s = start.rounds, Usage(), 0.0
        self.ends_round, self.stop_requested = start.ends_round, False
        self.plan_on()

    @property
    def spoken(self) -> list[str]:
        """Return the participants of the closed turns in the order of turn numbers."""
        return [self.planned[number].participant for number in sorted(self.closed)]

    @property
    def next(self) -> PlannedTurn:
        """The one turn that is open."""
        (turn,) = self.open.values()
        return turn

    def waiting(self) -> list[str]:
        """Return the participants with an open turn."""
        return [turn.participant for turn in self.open.values()]

    def view(self) -> SessionView:
        ended = self.ends_round and not self.open
        return SessionView(
            mode=self.mode,
            purpose=PURPOSE,
            roster=tuple(self.roster),
            orchestrator=self.orchestrator,
            options=self.options,
            state=json.loads(self.state),
            results=tuple(sorted(self.fresh, key=lambda result: result.number)),
            open=tuple(
                OpenTurn(number=number, participant=turn.participant, scope=turn.scope, item=turn.item)
                for number, turn in self.open.items()
            ),
            totals=Totals(
                turns=self.start.closed + len(self.closed),
                skipped=self.start.skipped
                + sum(result.kind is OutcomeKind.SKIPPED for result in self.results.values()),
                rounds=self.rounds + ended,
                usage=self.usage,
                elapsed_s=self.elapsed_s,
            ),
        )

    def plan_on(self, *, meanwhile: Callable[[], None] | None = None) -> None:
        """Plans until there is something to wait for; `meanwhile` happens between view and plan."""
        for _ in range(3):
            if self.finish or self._apply_next_plan(meanwhile):
                return
            meanwhile = None
        raise AssertionError("steps without turns lead to nothing")

    def _apply_next_plan(self, meanwhile: Callable[[], None] | None) -> bool:
        view = self.view()
        decided = decide(
            view,
            self.condition,
            json.loads(self.stop_state),
            stop_requested=self.stop_requested,
            output=self.output,
        )
        self.stop_state = json.dumps(decided.stop_state)
        self.refused += decided.refused
        if meanwhile:
            meanwhile()
        match decided.plan:
            case Wait():
                assert view.open, "a session that waits for nothing hangs"
                return bool(self.open)
            case Finish() as finish:
                self.finish, self.rounds = finish, view.totals.rounds
                self._show(finish.board)
                return True
            case step:
                self._apply(step, view)
                return bool(self.open)

    def _apply(self, step: Step, view: SessionView) -> None:
        self.steps.append(step)
        self.state, self.rounds, self.ends_round = json.dumps(step.state), view.totals.rounds, step.ends_round
        self.fresh = [result for result in self.fresh if result not in view.results]
        for number in self.open.keys() & set(step.drop):
            del self.open[number]
            self.dropped.append(number)
        for turn in step.turns:
            number = self.start.next_number + len(self.planned)
            self.planned[number] = self.open[number] = turn
        self._show(step.board)
        scopes = [turn.scope for turn in self.open.values()]
        assert max(Counter(scopes).values(), default=0) <= 1, "a scope has one writer"
        assert FLOOR_SCOPE not in scopes or len(scopes) == 1, "an exclusive turn is the only open turn"
        assert len(set(self.waiting())) == len(self.open), "nobody speaks twice at once"

    def _show(self, entries: Sequence[BoardEntry]) -> None:
        for entry in entries:
            self.board.setdefault(entry.item.item_id, []).append(entry)

    def close(
        self, number: int, kind: OutcomeKind = OutcomeKind.MESSAGE, text: str = "", **outcome: Any
    ) -> None:
        """Closes an open turn without planning on."""
        turn = self.open.pop(number)
        result = TurnResult(
            number=number,
            participant=turn.participant,
            kind=kind,
            item=turn.item,
            marks=self.condition.match_texts([text], turn.participant),
            **outcome,
        )
        self.closed.append(number)
        self.results[number] = result
        self.fresh.append(result)
        self.usage += result.usage

    def say(self, participant: str | None = None, text: str = "", **outcome: Any) -> None:
        """Close the open turn (of this participant) with a message and continue the session."""
        self.close(self._number(participant), text=text, **outcome)
        self.plan_on()

    def turn_out(self, kind: OutcomeKind, participant: str | None = None, **outcome: Any) -> None:
        """The open turn (of this participant) closes in another way than with a message."""
        self.close(self._number(participant), kind, **outcome)
        self.plan_on()

    def decide(self, *names: str, **decision: Any) -> None:
        """The orchestrator, or the navigator, speaks and decides."""
        self.say(decision=Decision(next=names, **decision))

    def _number(self, participant: str | None) -> int:
        (number,) = (n for n, turn in self.open.items() if participant in (None, turn.participant))
        return number

    def run(self, *, until: int = 200) -> Finish:
        """Answer every turn, oldest first, until the session ends."""
        for _ in range(until):
            if self.finish:
                return self.finish
            self.close(min(self.open))
            self.plan_on()
        raise AssertionError(f"not finished after {until} turns: {self.spoken}")

    def final_board(self) -> dict[str, str]:
        """Item texts, and what the board shows of them last."""
        return {entries[-1].item.text: entries[-1].status for entries in self.board.values()}


def item(text: str, role: str | None = None) -> NewItem:
    """An item for a board."""
    return NewItem(text=text, role=role)

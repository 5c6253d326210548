"""What a model explores: the session's steps, who takes part, and how often each fault may strike."""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import NamedTuple

from .store import NOW_MS, Store


class Budget(NamedTuple):
    """How often each thing may still happen; `faults` limits crashes, lost answers, copies and expiries together."""

    faults: int = 0
    crashes: int = 0
    lost_answers: int = 0
    copies: int = 0
    expiries: int = 0
    failures: int = 0
    questions: int = 0
    reassignments: int = 0
    #: Messages that reach a worker without the agent, while no worker has it.
    strangers: int = 0

    def allows(self, kind: str) -> bool:
        """Return whether `kind` may happen once more."""
        is_fault = kind in ("crashes", "lost_answers", "copies", "expiries")
        return getattr(self, kind) > 0 and (self.faults > 0 or not is_fault)

    def less(self, kind: str) -> Budget:
        """Return the budget after `kind` has happened."""
        is_fault = kind in ("crashes", "lost_answers", "copies", "expiries")
        return self._replace(**{kind: getattr(self, kind) - 1}, faults=self.faults - is_fault)


@dataclass(frozen=True, slots=True, eq=False)
class Scenario:
    """A session with its bounds; as a key it is itself, not its values."""

    name: str
    #: Scopes of the turns of each step.
    steps: tuple[tuple[str, ...], ...]
    budget: Budget
    workers: int = 2
    #: What each person does with a question: `answer` closes the turn, `return` gives it back to the workers.
    people: tuple[str, ...] = ()
    #: What the operator calls, in this order, at any time: `activate`, `suspend`, `resume`, `stop`,
    #: `post` or `steer`.
    operator: tuple[str, ...] = ()
    is_cancelled: bool = False
    #: A step ends with its first turn: the plan after it drops the others.
    first_wins: bool = False
    #: Limit of the session's tokens; each attempt reserves two and spends one. 0: no limit.
    limit: int = 0

    #: Workers claim the next turn with the commit of the one before it.
    claims: bool = False
    #: The session has a deadline, which passes with the second sweep.
    has_deadline: bool = False

    @property
    def may_lack_turns(self) -> bool:
        """Return whether the session may be completed before all its turns are written."""
        return self.first_wins or bool(self.limit) or "stop" in self.operator or self.has_deadline

    @property
    def is_draft(self) -> bool:
        """Return whether the session waits for the operator before it starts."""
        return "activate" in self.operator

    @property
    def scopes(self) -> tuple[str, ...]:
        """Return the scopes of all turns."""
        return tuple(sorted({scope for step in self.steps for scope in step}))

    def wish(self) -> str:
        """Return what an attempt asks to reserve."""
        return json.dumps({"tokens": {"limit": self.limit, "least": 1, "most": 2}}) if self.limit else ""


class Plan(NamedTuple):
    """A plan, made when the session was at version `expected`; a `step` beyond the last one ends the session."""

    #: A unique name, `@`, and the edition of the settings that the planner has read.
    plan_id: str
    expected: str
    step: int
    consumed: tuple[int, ...]
    drop: tuple[int, ...]
    #: Scopes of the turns that it drops.
    scopes: tuple[str, ...]

    def document(self, scenario: Scenario) -> str:
        """Return the plan as the script reads it."""
        document: dict[str, object] = {
            "id": self.plan_id,
            "stop": "{}",
            "rounds": self.step,
            "consumed": [str(number) for number in self.consumed],
            "board": {},
        }
        if self.step >= len(scenario.steps):
            document["finish"] = {
                "status": "completed",
                "reason": "exhausted",
                "detail": "",
                "retention_ms": 60_000,
            }
        else:
            turns = [{"record": _record(scope), "plan": "{}"} for scope in scenario.steps[self.step]]
            state = {"planner": str(self.step + 1), "ends_round": "0"}
            document |= {**state, "drop": [str(number) for number in self.drop], "turns": turns}
        return json.dumps(document)


def _record(scope: str) -> dict[str, object]:
    more = {"broadcast": False, "snapshot": False}
    return {"participant": "ann", "role_id": "agent", "role_uuid": "agent", "scope": scope, **more}


def make_plan(
    scenario: Scenario, store: Store, plan_id: str, *, after: int | None = None, exhausted: bool = False
) -> Plan | None:
    """Return the plan for a store, or for the time when turn `after` has closed; None: wait for open turns."""
    others = tuple(number for number in store.open_turns if number != after)
    closed = tuple(store.closed_turns) + (() if after is None else (after,))
    is_over = exhausted or int(store.session.get("deadline_ms", NOW_MS + 1)) <= NOW_MS
    must_end = is_over or store.session.get("stop_requested") == "1"
    step = len(scenario.steps) if must_end else int(store.session.get("planner") or 0)
    # A stop does not wait for parked turns, which the end of the session drops.
    awaited = [number for number in others if not must_end or store.turns[number]["status"] != "parked"]
    may_drop = is_over or (scenario.first_wins and bool(closed))
    if store.status != "active" or (awaited and not may_drop):
        return None
    scopes = tuple(store.turns[number]["scope"] for number in others)
    return Plan(f"{plan_id}@{store.count('edition')}", store.session["version"], step, closed, others, scopes)

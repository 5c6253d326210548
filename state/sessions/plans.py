"""A plan as the `plan` and `commit` verbs read it: one JSON document.

Absent values are left out, never null, because a JSON null is a value in Lua.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from ...models.protocol.collab import Participant
from ...models.sessions.plan import BoardEntry, Finish, PlannedTurn, RefusedHandOff, Step
from ...models.text.ids import new_id
from .requests import JournalNote
from .roles import broadcaster_role_of, role_of, role_uuid_of


@dataclass(frozen=True, slots=True)
class PlanWrite:
    """Changes to write if the session is still at version `expected`."""

    plan_id: str
    expected: int
    document: str
    #: Scopes of the turns that this plan drops; their locks are released.
    released: tuple[str, ...] = ()
    #: Hand-offs that it refuses; they are recorded.
    refused: tuple[RefusedHandOff, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanFrame:
    """Parts of a written plan that are not in the planner's answer."""

    expected: int
    roster: dict[str, Participant]
    #: The stop conditions' state, as JSON.
    stop: str
    rounds: int
    #: Numbers of the closed turns the planner has seen.
    consumed: tuple[int, ...]
    #: Id of the planning task: the parent of the new tasks.
    parent: str
    #: Text of a broadcast without a text of its own.
    purpose: str
    retention_ms: int
    #: Scopes of the open turns by number.
    scopes: dict[int, str]
    #: True: with this plan the roster becomes `roster`.
    promotes: bool = False
    #: Hand-offs that the mode refuses.
    refused: tuple[RefusedHandOff, ...] = ()


def _turn(planned: PlannedTurn, frame: PlanFrame) -> dict[str, Any]:
    speaker = frame.roster[planned.participant]
    record = {
        "participant": planned.participant,
        "role_id": role_of(speaker),
        "role_uuid": role_uuid_of(speaker),
        "scope": planned.scope,
        "broadcast": planned.broadcast,
        "snapshot": planned.snapshot,
        "parent": frame.parent,
    }
    return {"record": record, "plan": planned.model_dump_json(exclude_defaults=True)}


def _announcement(step: Step, frame: PlanFrame) -> dict[str, Any]:
    targets = [role_of(frame.roster[turn.participant]) for turn in step.turns]
    message = {"content": step.announce or frame.purpose}
    broadcaster = broadcaster_role_of(frame.roster)
    payload = {"broadcaster_role_id": broadcaster, "target_count": len(targets), "message": message}
    return {"payload": payload, "targets": targets}


def _board(entries: tuple[BoardEntry, ...]) -> dict[str, str]:
    return {entry.item.item_id: entry.model_dump_json(exclude_none=True) for entry in entries}


def _refusal(hand_off: RefusedHandOff) -> JournalNote:
    data: dict[str, JsonValue] = {
        "turn_number": hand_off.number,
        "participant_id": hand_off.participant,
        "to": hand_off.to,
        "reason": hand_off.reason,
    }
    return JournalNote("turn.handoff.refused", data)


def build_plan_write(plan: Step | Finish, frame: PlanFrame) -> PlanWrite:
    """Return the document of one plan."""
    plan_id = new_id()
    document: dict[str, Any] = {
        "id": plan_id,
        "stop": frame.stop,
        "rounds": frame.rounds,
        "consumed": [str(number) for number in frame.consumed],
        "board": _board(plan.board),
    }
    if frame.refused:
        document["notes"] = [_refusal(hand_off) for hand_off in frame.refused]
    if isinstance(plan, Finish):
        released = tuple(frame.scopes.values())
        document["finish"] = {
            "status": "cancelled" if plan.aborted else "completed",
            "reason": plan.reason,
            "detail": plan.detail,
            "retention_ms": frame.retention_ms,
        }
    else:
        released = tuple(frame.scopes[number] for number in plan.drop)
        document |= {
            "planner": json.dumps(plan.state),
            "ends_round": "1" if plan.ends_round else "0",
            "drop": [str(number) for number in plan.drop],
            "turns": [_turn(turn, frame) for turn in plan.turns],
        }
        if frame.promotes:
            document["promotes"] = list(frame.roster)
        if plan.announce is not None:
            document["announce"] = _announcement(plan, frame)
    text = json.dumps(document, ensure_ascii=False)
    return PlanWrite(plan_id, frame.expected, text, released, frame.refused)

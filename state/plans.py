"""A plan as the `plan` and `commit` verbs read it: one JSON document.

Absent is left out, never null: to Lua a JSON null is a value.
"""

from __future__ import annotations

import json
from dataclasses import dataclass
from typing import Any

from pydantic import JsonValue

from ..models.collab import Participant
from ..models.ids import new_id
from ..models.plan import BoardEntry, Finish, PlannedTurn, RefusedHandOff, Step
from .requests import Note
from .roles import broadcaster_role_of, role_of, role_uuid_of


@dataclass(frozen=True, slots=True)
class PlanWrite:
    """What is to be written if the session is still at version `expected`."""

    plan_id: str
    expected: int
    document: str
    #: Scopes of the turns this plan takes out, whose locks go with them.
    released: tuple[str, ...] = ()
    #: Hand-offs that it refuses on record.
    refused: tuple[RefusedHandOff, ...] = ()


@dataclass(frozen=True, slots=True)
class PlanFrame:
    """What a plan is written with besides the planner's answer."""

    expected: int
    roster: dict[str, Participant]
    #: The stop conditions' state, as JSON.
    stop: str
    rounds: int
    #: Numbers of the closed turns the planner has seen.
    consumed: tuple[int, ...]
    #: Task id that plans: the parent of the tasks to come.
    parent: str
    #: What a broadcast without a text of its own says.
    purpose: str
    retention_ms: int
    #: Scopes of the open turns by number.
    scopes: dict[int, str]
    #: With this plan the roster becomes `roster`.
    promotes: bool = False
    #: Hand-offs that the mode does not take.
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


def _refusal(hand_off: RefusedHandOff) -> Note:
    data: dict[str, JsonValue] = {
        "turn_number": hand_off.number,
        "participant_id": hand_off.participant,
        "to": hand_off.to,
        "reason": hand_off.reason,
    }
    return Note("turn.handoff.refused", data)


def plan_write(plan: Step | Finish, frame: PlanFrame) -> PlanWrite:
    """The document of one plan."""
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

"""Arguments of the session scripts: openings, grant requests, turn outputs, plans, and roles in events.

A plan is one JSON document, which the scripts `plan` and `commit` read.
"""

from __future__ import annotations

import json
from collections.abc import Sequence
from dataclasses import dataclass, field
from typing import Any, NamedTuple

from pydantic import JsonValue

from ...models.protocol.collab import Collab, Participant
from ...models.protocol.dialog import Role
from ...models.sessions.limits import ReservationRequest
from ...models.sessions.plan import BoardEntry, Finish, PlannedTurn, RefusedHandOff, Step
from ...models.text.ids import new_id, role_uuid
from ...models.text.json_text import dump_json
from ...models.turns.turn import OutcomeKind, Usage
from .turn_records import Accounts


@dataclass(frozen=True, slots=True)
class Opening:
    """A session to open."""

    collab: Collab
    #: The `SessionSpec`, as JSON.
    spec: str
    #: Digest of the submission; distinguishes a repeated call from another session with the same id.
    digest: str
    #: Opening messages of the dialog, as JSON.
    messages: tuple[str, ...] = ()
    #: Maximum seconds of real time; None: no limit.
    deadline_s: float | None = None
    #: True: its keys get their TTL only after the session is archived.
    archived: bool = False
    #: Id of the session whose turn it answers; empty: it is no sub-session.
    parent: str = ""
    #: Hashes with which a fork begins, as JSON; empty: from the start.
    start: str = ""
    #: Whether it stays a draft until it is activated.
    draft: bool = False


class JournalNote(NamedTuple):
    """An embedded event that a turn writes to the journal of its session."""

    #: Type of the event, such as `turn.failed`.
    event_type: str
    #: JSON data without empty arrays, because Lua would write them as objects.
    data: dict[str, JsonValue]


@dataclass(frozen=True, slots=True)
class TurnOutput:
    """Output of a turn for `commit`."""

    kind: OutcomeKind
    #: The `TurnResult`, as JSON.
    result: str
    #: The part of the result that only the planner needs, as JSON, for the turn's event; empty: no such part.
    record: str = ""
    #: Usage of this attempt.
    usage: Usage = field(default_factory=Usage)
    #: Usage of other attempts that this attempt has found, by their tokens.
    others: Accounts = field(default_factory=dict)
    #: Number of messages that the agent left out because of the size limit.
    left_out: int = 0
    error: str = ""
    #: Messages as JSON.
    messages: tuple[str, ...] = ()
    #: Notes for the journal.
    notes: tuple[JournalNote, ...] = ()


class SeenMessage(NamedTuple):
    """A message of a dialog that a worker has."""

    entry_id: str
    #: SHA-1 of its JSON: after a failover, another message may have the id.
    sha: str


@dataclass(frozen=True, slots=True)
class Claim:
    """A worker's request for the grant of a turn."""

    number: int
    scope: str
    #: The execution token: a new UUID for every request.
    token: str
    lease_ms: int
    timeout_ms: int
    #: Maximum number of messages in the agent's window of the dialog.
    window: int
    task_id: str
    parent_id: str = ""
    #: Amounts to reserve for the turn, in a session with limits.
    limit_request: ReservationRequest | None = None
    #: Whether tenant and model allow the turn to run now; otherwise only due work is returned, without a
    #: grant.
    admitted: bool = True
    #: Id of the process that asks, if its end would be noticed; empty: only the lease ends its grant.
    process: str = ""


def claim_args(claim: Claim, seen: SeenMessage | None) -> dict[str, str | int]:
    """Return what `begin` and `commit` need to grant a turn, by the names of `begin`; `seen` as in `SessionStore.begin`."""
    return {
        "scope": claim.scope,
        "token": claim.token,
        "lease_ms": claim.lease_ms,
        "timeout_ms": claim.timeout_ms,
        "window": claim.window,
        "task_id": claim.task_id,
        "parent_id": claim.parent_id,
        "process": claim.process,
        "seen": seen.entry_id if seen else "",
        "seen_sha": seen.sha if seen else "",
    }


def format_notes(notes: Sequence[JournalNote]) -> str:
    """Return notes in the format that scripts read; an empty text if there are none."""
    return json.dumps(notes) if notes else ""


def role_of(participant: Participant) -> str:
    """Return the role id of a participant; without a role, its participant id."""
    return participant.role_id or participant.participant_id


def role_uuid_of(participant: Participant) -> str:
    """Return the role as a UUID, as event payloads require."""
    return role_uuid(role_of(participant))


def roles_document(collab: Collab) -> str:
    """Return the roles for MAPSessionStarted and MAPRolesAssigned, as JSON."""
    assignments = [
        {
            "participant_id": participant.participant_id,
            "role_id": role_of(participant),
            "role_uuid": role_uuid_of(participant),
            "kind": participant.kind,
        }
        for participant in collab.participants
    ]
    started = {"mode": collab.mode, "title": collab.title, "participant_count": len(assignments)}
    targets = [role_of(participant) for participant in collab.participants]
    return dump_json({"started": started, "assignments": assignments, "targets": targets})


@dataclass(frozen=True, slots=True)
class PlanWrite:
    """A plan to write if the session is still at version `expected`."""

    plan_id: str
    expected: int
    document: str
    #: Scopes of the turns that this plan drops, whose locks are released.
    released: tuple[str, ...] = ()
    #: Hand-offs that the mode refuses; recorded as events.
    refused: tuple[RefusedHandOff, ...] = ()
    #: Numbers of the turns that this plan drops.
    dropped: tuple[int, ...] = ()
    #: Its turn, if it plans one turn of the roster as it is.
    only_turn: PlannedTurn | None = None


@dataclass(frozen=True, slots=True)
class PlanFrame:
    """Parts of a written plan that are not in the planner's answer."""

    expected: int
    roster: dict[str, Participant]
    #: The stop conditions' state, as JSON.
    stop: str
    rounds: int
    #: Numbers of the closed turns that the planner has seen.
    consumed: tuple[int, ...]
    #: The participants of these turns, by number.
    consumed_by: dict[int, str]
    #: Id of the planning task: the parent of the new tasks.
    parent: str
    #: Default text of a broadcast.
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
    if planned.indexed:
        record["indexed"] = True
    return {"record": record, "plan": planned.model_dump_json(exclude_defaults=True)}


def _announcement(step: Step, frame: PlanFrame) -> dict[str, Any]:
    targets = [role_of(frame.roster[turn.participant]) for turn in step.turns]
    message = {"content": step.announce or frame.purpose}
    payload = {"broadcaster_role_id": Role.USER.value, "target_count": len(targets), "message": message}
    document: dict[str, Any] = {"payload": payload, "targets": targets}
    if step.announced_turn is not None:
        payload["broadcaster_role_id"] = role_of(frame.roster[frame.consumed_by[step.announced_turn]])
        document["turn"] = step.announced_turn
    elif not step.announce:
        document["user"] = Role.USER.value
    return document


def _board(entries: tuple[BoardEntry, ...]) -> dict[str, str]:
    return {entry.item.item_id: entry.model_dump_json(exclude_defaults=True) for entry in entries}


def _refusal(hand_off: RefusedHandOff) -> JournalNote:
    data: dict[str, JsonValue] = {
        "turn_number": hand_off.number,
        "participant_id": hand_off.participant,
        "to": hand_off.to,
        "reason": hand_off.reason,
    }
    return JournalNote("turn.handoff.refused", data)


def build_plan_write(plan: Step | Finish, frame: PlanFrame) -> PlanWrite:
    """Return a plan in the form in which it is written."""
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
        dropped = tuple(frame.scopes)
        document["finish"] = {
            "status": "cancelled" if plan.aborted else "completed",
            "reason": plan.reason,
            "detail": plan.detail,
            "retention_ms": frame.retention_ms,
        }
    else:
        dropped = tuple(plan.drop)
        document |= {
            "planner": dump_json(plan.state),
            "ends_round": "1" if plan.ends_round else "0",
            "drop": [str(number) for number in plan.drop],
            "turns": [_turn(turn, frame) for turn in plan.turns],
        }
        if frame.promotes:
            document["promotes"] = list(frame.roster)
        if plan.announce is not None:
            document["announce"] = _announcement(plan, frame)
    turns = () if isinstance(plan, Finish) or frame.promotes else plan.turns
    return PlanWrite(
        plan_id,
        frame.expected,
        dump_json(document),
        released=tuple(frame.scopes[number] for number in dropped),
        refused=frame.refused,
        dropped=dropped,
        only_turn=turns[0] if len(turns) == 1 else None,
    )

"""The state of a session as its page shows it: who speaks, who waits, what is spent, what may be done. Pure.

A live and an archived session have the same shape.
"""

from __future__ import annotations

from collections.abc import Mapping, Sequence
from dataclasses import dataclass, field
from typing import cast

from pydantic import JsonValue

from ....jobs.conditions import NO_CONDITION, Condition
from ....models.alignment.ledger import Ledger
from ....models.modes.decisions import DecisionLog
from ....models.protocol.collab import CollabStatus
from ....models.sessions.plan import BoardEntry
from ....models.sessions.shown_status import ShownStatus, shown_status
from ....models.turns.turn import Usage
from ....models.turns.waiting import Pending
from ....state.sessions.family import RegisteredChild
from ....state.sessions.live_sessions import queued_for_s
from ....state.sessions.progress import limits_of_session
from ....state.sessions.records import SessionState
from ....state.sessions.turn_records import TurnRecord
from ....tasks.views.session_views import SessionFacts
from ..questions import build_question
from ..visible import make_fields_visible
from .usage import SessionTotals

Json = dict[str, JsonValue]

#: Status of an open turn -> word for people.
_TURN_WORDS = {"planned": "queued", "speaking": "speaking", "parked": "waits for an answer", "held": "held"}
_LOST = "worker lost"
#: Of several open turns of a participant, the state of the first of these is shown.
_ORDER = ("speaking", "parked", "held", "planned")


@dataclass(frozen=True, slots=True)
class SessionParts:
    """What the page of a session is made of, read at one time."""

    facts: SessionFacts
    state: SessionState
    totals: SessionTotals
    is_live: bool
    #: Milliseconds until the lease of a turn's lock ends, by turn number.
    leases_ms: Mapping[int, int] = field(default_factory=dict)
    questions: tuple[Pending, ...] = ()
    board: tuple[BoardEntry, ...] = ()
    ledger: Ledger = field(default_factory=Ledger)
    #: Decisions of the orchestrator; None in other modes.
    decisions: DecisionLog | None = None
    children: tuple[RegisteredChild, ...] = ()

    @property
    def has_memory(self) -> bool:
        """Return whether its user has a dialog memory."""
        memory = self.facts.spec.memory
        return memory is not None and memory.user_id is not None and memory.room_id is not None

    @property
    def followed_from_ms(self) -> int:
        """Return the time from which a page follows the session, so that it gets the output of turns that run."""
        running = [record.began_ms for record in self.state.open_turns() if record.status == "speaking"]
        return min([self.state.now_ms, *(began_ms for began_ms in running if began_ms is not None)])


def session_json(parts: SessionParts, condition: Condition = NO_CONDITION) -> Json:
    """Return a session for its page, without its messages and events.

    Args:
        parts: What the page is made of.
        condition: What the session does, or why it does not move.
    """
    facts, state = parts.facts, parts.state
    if state.is_final:
        condition = NO_CONDITION  # it is judged a second later
    data: Json = {
        "id": facts.session_id,
        "is_live": parts.is_live,
        "title": facts.collab.title,
        "purpose": facts.collab.purpose,
        "mode": facts.collab.mode.value,
        "protocol": facts.spec.protocol.value if facts.spec.protocol else None,
        "status": state.status.value,
        "is_final": state.is_final,
        "reason": state.reason,
        "detail": state.detail,
        "actor": state.actor,
        "stop_requested": state.stop_requested and not state.is_final,
        "now_ms": state.now_ms,
        "opened_ms": state.opened_ms,
        "started_ms": state.started_ms,
        "updated_ms": state.updated_ms,
        "ended_ms": state.ended_ms,
        "turns": state.closed,
        "rounds": state.rounds,
        "messages": state.messages,
        "queued_for_s": queued_for_s(state) if parts.is_live else None,
        "tenant": facts.spec.tenant,
        "priority": facts.spec.priority.value,
        "parent": None if facts.spec.parent is None else facts.spec.parent.model_dump(mode="json"),
        "descendants": [child._asdict() for child in parts.children],
        "has_memory": parts.has_memory,
        "usage": state.usage.to_json_data(),
        "budget": budget_json(facts, state),
        "participants": list(_participants(parts, condition.lost_turns)),
        "usage_is_complete": parts.totals.is_complete,
        "open_turns": [
            {**_open_turn(record, parts.leases_ms, state.now_ms), **_lost_state(record, condition.lost_turns)}
            for record in state.open_turns()
        ],
        "board": [item_json(entry) for entry in parts.board],
        "decisions": None if parts.decisions is None else decisions_json(parts.decisions),
        "ledger": ledger_json(parts.ledger) if facts.spec.protocol else None,
        "actions": list(possible_actions(state, is_live=parts.is_live, asks=bool(parts.questions))),
        "exports": list(export_formats(facts)),
    }
    data |= condition.to_json()
    # Names and choices of a question are sent back in its answer, so the page makes them visible.
    questions: list[JsonValue] = [cast("Json", build_question(question)) for question in parts.questions]
    return {**make_fields_visible(data), "questions": questions}


def export_formats(facts: SessionFacts) -> tuple[str, ...]:
    """Return the formats in which a session can be downloaded; an alignment session also as a document."""
    return ("json", "map-events", *(("alignment",) if facts.spec.protocol else ()))


def possible_actions(state: SessionState, *, is_live: bool, asks: bool) -> tuple[str, ...]:
    """Return the actions that the session's status permits.

    Args:
        state: The session.
        is_live: Whether Redis holds it.
        asks: Whether a question is open.
    """
    fork = ("fork",) if state.next_number > 1 else ()
    if state.is_final:
        failed = shown_status(state.status.value, state.reason) is ShownStatus.FAILED
        return ("continue", *fork, *(("retry",) if failed and fork else ()))
    if not is_live:
        return ()
    if state.status is CollabStatus.DRAFT:
        return ("activate", "cancel", "post")
    paused = "resume" if state.status is CollabStatus.SUSPENDED else "suspend"
    stop = () if state.stop_requested else ("stop",)
    return (paused, *stop, "cancel", "post", *(("reply",) if asks else ()), *fork)


def _lost_state(record: TurnRecord, lost_turns: Sequence[int]) -> Json:
    """Return the state of a turn whose worker was lost; empty: it was not."""
    return {"state": _LOST} if record.number in lost_turns else {}


def _participants(parts: SessionParts, lost_turns: Sequence[int]) -> list[JsonValue]:
    """Return the roster, then participants who were removed but have spoken."""
    facts, totals = parts.facts, parts.totals.participants
    shown: list[JsonValue] = []
    for name, participant in facts.roster.items():
        binding = facts.spec.agents.get(name)
        shown.append(
            {
                "id": name,
                "name": participant.display_name or name,
                "role": participant.role_id,
                "kind": participant.kind.value,
                "agent": binding.agent if binding else None,
                "is_orchestrator": name == facts.spec.orchestrator,
                "state": _state_of(name, parts, lost_turns),
                **_totals(parts, name),
            }
        )
    removed = [name for name in totals if name not in facts.roster]
    return shown + [_removed(parts, name) for name in removed]


def _removed(parts: SessionParts, name: str) -> Json:
    return {
        "id": name,
        "name": name,
        "role": None,
        "kind": "agent",
        "agent": None,
        "is_orchestrator": False,
        "state": "removed",
        **_totals(parts, name),
    }


def _totals(parts: SessionParts, name: str) -> Json:
    totals = parts.totals.participants.get(name)
    if totals is None:
        return {"turns": 0, "failed": 0, "usage": Usage().to_json_data()}
    return {"turns": totals.turns, "failed": totals.failed, "usage": totals.usage.to_json_data()}


def _state_of(name: str, parts: SessionParts, lost_turns: Sequence[int]) -> str:
    """Return what a participant does now, in words."""
    state = parts.state
    if state.is_final:
        return "ended"
    if any(record.participant == name and record.number in lost_turns for record in state.open_turns()):
        return _LOST
    if any(name in question.asked for question in parts.questions):
        return "must answer"
    words_by_status = {
        record.status: _turn_words(record, state.now_ms)
        for record in state.open_turns()
        if record.participant == name
    }
    return next((words_by_status[status] for status in _ORDER if status in words_by_status), "idle")


def _turn_words(record: TurnRecord, now_ms: int) -> str:
    if record.status == "parked" and record.child is not None:
        return "waiting for a session"
    if record.status == "parked" and record.batch is not None:
        return "waiting for a batch"
    if record.status == "planned" and (record.queued_ms or 0) > now_ms:
        return "retries" if record.failures else "postponed"
    return _TURN_WORDS.get(record.status, record.status)


def _open_turn(record: TurnRecord, leases_ms: Mapping[int, int], now_ms: int) -> Json:
    return {
        "turn": record.number,
        "participant": record.participant,
        "scope": record.scope,
        "state": _turn_words(record, now_ms),
        "attempt": record.grants,
        "failures": record.failures,
        "fence": record.fence,
        "substitute": record.agent,
        "began_ms": record.began_ms,
        "queued_ms": record.queued_ms,
        "parked_ms": record.parked_ms if record.status == "parked" else None,
        "parent_id": record.parent,
        "lease_left_ms": leases_ms.get(record.number),
        "waits_for_budget": record.short is not None,
        "awaited_agent": record.lacks,
        "reserved_tokens": record.reserved.tokens,
        "reserved_cost_micros": record.reserved.cost,
    }


def budget_json(facts: SessionFacts, state: SessionState) -> list[JsonValue]:
    """Return the limits of the session, without safety caps: unit, limit, what is used, and what open turns have reserved."""
    held = [record.reserved for record in state.open_turns()]
    reserved = {"tokens": sum(part.tokens for part in held), "cost_micros": sum(part.cost for part in held)}
    return [
        {"unit": use.unit, "limit": use.limit, "used": use.used, "reserved": reserved.get(use.unit, 0)}
        for use in limits_of_session(state, facts.spec.stop, facts.collab.mode)
    ]


def decisions_json(log: DecisionLog) -> Json:
    """Return the decisions of an orchestrator so far."""
    return {
        "decisions": [*log.decision_lines()],
        "hand_offs": [*log.hand_off_lines()],
        "stalls": log.stalls,
        "replans": log.replans,
        "invalid": log.invalid,
        "fault": log.fault,
    }


def ledger_json(ledger: Ledger) -> Json:
    """Return the ledger of an alignment session."""
    return {
        "round": ledger.round,
        "converged": ledger.converged,
        "tensions": [
            {
                "id": tension.id,
                "label": tension.label,
                "state": tension.state.value,
                "by": tension.changes[0].by,
                "changes": len(tension.changes),
            }
            for tension in ledger.tensions
        ],
        "perspectives": [
            {
                "id": perspective.id,
                "label": perspective.label,
                "by": perspective.by,
                "round": perspective.round,
            }
            for perspective in ledger.perspectives
        ],
        "rounds": [
            {
                "round": entry.round,
                "velocity": entry.velocity,
                "open_tensions": entry.open_tensions,
                "score": entry.score,
            }
            for entry in ledger.rounds
        ],
        "scores": {
            name: {**scores.model_dump(), "total": scores.total} for name, scores in ledger.scores.items()
        },
    }


def item_json(entry: BoardEntry) -> Json:
    """Return a work item of the board."""
    return {
        "id": entry.item.item_id,
        "text": entry.item.text,
        "role": entry.item.role,
        "hand_offs": entry.item.hand_offs,
        "status": entry.status,
        "participant": entry.participant,
        "turn": entry.turn_number,
        "reason": entry.reason,
    }

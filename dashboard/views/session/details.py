"""Parts of a session's page: usage, budget, board, decisions, alignment ledger. Pure."""

from __future__ import annotations

from pydantic import JsonValue

from ....models.alignment.ledger import Ledger
from ....models.modes.decisions import DecisionLog
from ....models.sessions.plan import BoardEntry, Totals
from ....state.sessions.records import SessionState
from ....tasks.views.session_views import SessionFacts

Json = dict[str, JsonValue]


def budget_json(facts: SessionFacts, state: SessionState) -> list[JsonValue]:
    """Return the limits of the session: unit, limit, what is used, and what open turns have reserved."""
    limits = facts.spec.stop.remaining(Totals())
    held = [record.reserved for record in state.open_turns()]
    elapsed_ms = (state.ended_ms or state.now_ms) - state.started_ms
    amounts: tuple[tuple[str, float | None, float, int], ...] = (
        ("turns", limits.turns, state.closed, 0),
        ("tokens", limits.tokens, state.usage.tokens, sum(it.tokens for it in held)),
        ("cost_micros", limits.cost_micros, state.usage.cost_micros, sum(it.cost for it in held)),
        ("seconds", limits.seconds, round(elapsed_ms / 1000, 1), 0),
    )
    return [
        {"unit": unit, "limit": limit, "used": used, "reserved": reserved}
        for unit, limit, used, reserved in amounts
        if limit is not None
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
                "id": it.id,
                "label": it.label,
                "state": it.state.value,
                "by": it.changes[0].by,
                "changes": len(it.changes),
            }
            for it in ledger.tensions
        ],
        "perspectives": [
            {"id": it.id, "label": it.label, "by": it.by, "round": it.round} for it in ledger.perspectives
        ],
        "rounds": [
            {"round": it.round, "velocity": it.velocity, "open_tensions": it.open_tensions, "score": it.score}
            for it in ledger.rounds
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

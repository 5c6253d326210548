"""Dispatch of a session's turns to the queue."""

from __future__ import annotations

from collections.abc import Iterable

from ...state.sessions.records import SessionState
from ..runtime.graph import TaskGraph, TurnCall, ignore_broker_outage
from ..views.session_views import SessionFacts
from .limits import affordable_turns


def dispatch_turns(
    graph: TaskGraph,
    facts: SessionFacts,
    state: SessionState,
    numbers: Iterable[int],
    *,
    parent: str | None = None,
) -> None:
    """Send turns to the queue, like `send_turns`; during a broker outage the sweep sends them later."""
    with ignore_broker_outage(facts.session_id):
        send_turns(graph, facts, state, numbers, parent=parent)


def send_turns(
    graph: TaskGraph,
    facts: SessionFacts,
    state: SessionState,
    numbers: Iterable[int],
    *,
    parent: str | None = None,
) -> None:
    """Send turns to the queue; without `parent`, as children of the Celery task that planned each.

    Raises:
        OperationalError: The broker does not answer.
    """
    by_parent: dict[str, list[TurnCall]] = {}
    for number in numbers:
        record = state.records[number]
        binding = facts.spec.agents.get(record.participant)
        agent = record.agent or (binding.agent if binding else "")
        call = TurnCall(facts.session_id, number, record.participant, facts.collab.mode, record.scope, agent)
        by_parent.setdefault(parent or record.parent or facts.session_id, []).append(call)
    for planner, calls in by_parent.items():
        graph.send_turns(calls, parent=planner, sent_ms=state.now_ms)


def resend_all(graph: TaskGraph, facts: SessionFacts, state: SessionState) -> None:
    """Send again all messages that an active session may wait for; running turns answer `busy`."""
    with ignore_broker_outage(facts.session_id):
        send_turns(graph, facts, state, [turn.number for turn in state.open_turns()])
        graph.send_advance(facts.session_id, sent_ms=state.now_ms)


def redispatch_waiting(graph: TaskGraph, facts: SessionFacts, state: SessionState) -> None:
    """Send again turns that waited for budget, as many as the budget now allows."""
    if facts.has_budget:
        dispatch_turns(graph, facts, state, affordable_turns(facts.limits, state))

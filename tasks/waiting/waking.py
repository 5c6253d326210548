"""Due work of parked turns: the sweep sends the turn to a worker when work is due."""

from __future__ import annotations

from ...agents.remote.agent import ExternalAgent
from ...models.errors import AgentError, InvalidInput
from ...state.sessions.records import SessionState
from ...state.turns.parked import EventData
from ..runtime.runtime import Runtime
from ..turns.summary import TurnEnd
from ..views.view import SessionFacts
from .delivery import deliver_turn
from .overdue import apply_deadline_policy
from .parked_turn import OpenQuestion, read_question
from .tending import record_work, reminders_ms


def handle_due_work(runtime: Runtime, facts: SessionFacts, state: SessionState, number: int) -> TurnEnd:
    """Do the due work of a parked turn."""
    asked = read_question(facts, state, number)
    if asked is None:
        return TurnEnd("gone")
    if asked.parking.until_ms is not None and state.now_ms >= asked.parking.until_ms:
        return apply_deadline_policy(runtime, asked)
    delivery = asked.waiting.delivery
    if delivery is not None and not delivery.delivered and state.now_ms >= delivery.due_ms:
        agent = _remote_agent(runtime, asked)
        if agent is not None:
            return deliver_turn(runtime, asked, agent, delivery)
    return _remind(runtime, asked)


def _remote_agent(runtime: Runtime, asked: OpenQuestion) -> ExternalAgent | None:
    """Return the remote system that has the turn; None: this worker does not know it (any more)."""
    binding = asked.facts.spec.agents[asked.record.participant].with_agent(asked.record.agent)
    try:
        agent = runtime.registry.get_agent(binding)
    except (AgentError, InvalidInput):
        return None
    return agent if isinstance(agent, ExternalAgent) else None


def _remind(runtime: Runtime, asked: OpenQuestion) -> TurnEnd:
    """Record all due reminders as one."""
    since_ms = asked.state.now_ms - asked.parking.parked_ms
    reminded = sum(1 for after_ms in reminders_ms(asked.waiting) if after_ms <= since_ms)
    if reminded == asked.waiting.reminded:
        return TurnEnd("waiting")
    waiting = asked.waiting.model_copy(update={"reminded": reminded})
    about: EventData = {"asked": list(waiting.asked), "reminder": reminded}
    word = record_work(runtime, asked, waiting, event="turn.reminded", about=about)
    return TurnEnd(word, "parked: reminded of the question")

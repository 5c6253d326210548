"""The sub-session that a turn is about to wait for: its id, its document, and its share of the budget."""

from __future__ import annotations

from ....agents.kinds.session import SessionAgent
from ....models.errors import AgentFailed, BadOutcome, InvalidInput
from ....models.sessions.options import AgentBinding
from ....models.sessions.subsessions import ParentRef
from ....models.turns.turn import Question, TurnContext
from ....models.turns.waiting import ChildSession
from ...runtime.runtime import Runtime
from ...turns.active_turn import ActiveTurn


def find_session(runtime: Runtime, name: str) -> SessionAgent:
    """Return the registered session that an agent calls.

    Raises:
        BadOutcome: There is no such session.
    """
    try:
        agent = runtime.registry.get_agent(AgentBinding(agent=name))
    except InvalidInput as error:
        raise BadOutcome(f"question.session: {error}") from None
    if not isinstance(agent, SessionAgent):
        raise BadOutcome(f"question.session: must be an agent of kind session (got {name!r})")
    return agent


def plan_child(
    runtime: Runtime, turn: ActiveTurn, context: TurnContext, agent: SessionAgent, question: Question
) -> ChildSession:
    """Return the sub-session of a turn.

    Raises:
        AgentFailed: It would be nested too deep, or no budget is left for it; not retryable.
    """
    before = turn.waiting
    call = len(before.answers) + before.passed_on if before else 0
    ref = ParentRef.below(turn.session_id, turn.facts.spec.parent, turn=turn.grant.number, call=call)
    if ref.depth > runtime.limits.max_depth:
        rule = f"at most {runtime.limits.max_depth} sessions may be above it (SYMPOSIA_MAX_SUBSESSION_DEPTH)"
        raise AgentFailed(f"sub-session not opened: {rule}", retryable=False)
    is_call = question.session is not None
    document = agent.opening_of_call(context, question.text) if is_call else agent.opening_of_turn(context)
    limits, reserved = turn.facts.limits, turn.state.records[turn.grant.number].reserved
    spent = turn.own_usage
    return ChildSession(
        session_id=ref.child_id,
        call=call,
        document=document,
        tokens=None if limits.tokens is None else _left(reserved.tokens - spent.tokens, "tokens"),
        cost_micros=None if limits.cost_micros is None else _left(reserved.cost - spent.cost_micros, "cost"),
    )


def _left(amount: int, unit: str) -> int:
    if amount <= 0:
        rule = f"the turn has no {unit} left for it"
        raise AgentFailed(f"sub-session not opened: {rule}", retryable=False)
    return amount


def reservation_of_child(child: ChildSession) -> tuple[str, int, int]:
    """Return the id of a sub-session, with the tokens and the cost that stay reserved for it."""
    return child.session_id, child.tokens or 0, child.cost_micros or 0

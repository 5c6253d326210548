"""Claims on turns: of a message that has arrived, and of the turn that follows the one that is being written."""

from __future__ import annotations

import logging
import time
from collections.abc import Sequence
from dataclasses import replace

from ...models.sessions.agent_queues import format_need
from ...models.sessions.options import AgentBinding
from ...models.sessions.plan import PlannedTurn
from ...models.text.ids import new_id
from ...state.sessions.records import ScriptAnswer
from ...state.sessions.requests import Claim, PlanWrite
from ..planning.dispatch import reservation_request, turn_call
from ..runtime.next_turn import ClaimedTurn
from ..runtime.runtime import Runtime
from ..views.session_views import SessionFacts
from ..views.turn_context import granted_window
from .turn import WRITE_GRACE_S, Turn, turn_timeout_s

log = logging.getLogger(__name__)


def candidates_of(facts: SessionFacts, participant: str) -> list[AgentBinding]:
    """Return the agents that may have a participant's turn: its own, and the substitute; the grant decides between them."""
    own, substitute = facts.spec.agents[participant], facts.spec.policy_of(participant).substitute
    return [own] if substitute is None else [own, own.with_agent(substitute)]


def build_claim(
    runtime: Runtime,
    facts: SessionFacts,
    candidates: Sequence[AgentBinding],
    *,
    participant: str,
    number: int,
    scope: str,
    task_id: str,
    parent_id: str,
) -> Claim:
    """Return the claim of this process on a turn of `participant`, for a Celery task and its parent."""
    policy = facts.spec.policy_of(participant)
    registry = runtime.agents.registry
    return Claim(
        number=number,
        scope=scope,
        token=new_id(),
        lease_ms=runtime.limits.lease_ms,
        timeout_ms=int((turn_timeout_s(runtime, policy) + WRITE_GRACE_S) * 1000),
        window=granted_window(facts, max(registry.window(candidate) for candidate in candidates)),
        task_id=task_id,
        parent_id=parent_id,
        limit_request=reservation_request(registry, facts, candidates),
        process=runtime.ports.held.process,
    )


def claim_next(runtime: Runtime, turn: Turn, write: PlanWrite | None) -> ClaimedTurn | None:
    """Return the claim on the only turn of a plan, to send it with the commit of `turn`.

    None: this thread may not keep it, cannot run its agent, or it must be admitted first (`admission.py`).
    """
    planned = write.only_turn if write is not None else None
    if planned is None or turn.facts.has_budget or turn.facts.spec.tenant is not None:
        return None
    if not runtime.graph.may_keep_next():
        return None
    try:
        return _claim_if_free(runtime, turn, planned)
    except Exception:
        # The output of `turn` is paid for, so it is written without a claim; the next turn then raises the same error.
        log.exception("claiming the turn after turn %s of %s failed", turn.number, turn.session_id)
        return None


def _claim_if_free(runtime: Runtime, turn: Turn, planned: PlannedTurn) -> ClaimedTurn | None:
    """Return the claim if the agent of the next turn runs here, without a rate limit."""
    own, agents = turn.facts.spec.agents[planned.participant], runtime.agents
    if not agents.can_run(format_need(own.agent, own.queue)) or agents.registry.rate_limit(own) is not None:
        return None
    claim = build_claim(
        runtime,
        turn.facts,
        candidates_of(turn.facts, planned.participant),
        participant=planned.participant,
        number=0,  # the script numbers it
        scope=planned.scope,
        task_id=new_id(),
        parent_id=turn.task.id,
    )
    return ClaimedTurn(claim, runtime.sessions.tails.tail(turn.session_id, claim.window))


def keep_next(runtime: Runtime, turn: Turn, next_turn: ClaimedTurn, answer: ScriptAnswer) -> ScriptAnswer:
    """Keep the claimed turn for this thread, if the commit of `turn` granted it.

    Returns:
        The answer of the commit, without the kept turn among the `numbers` to dispatch.
    """
    state, token = answer.state, next_turn.claim.token
    record = next((it for it in state.open_turns() if it.token == token), None) if state else None
    if state is None or record is None:
        return answer
    claim = replace(next_turn.claim, number=record.number)
    # Without a grant this is a repeated commit, whose first answer was lost.
    granted = replace(next_turn, claim=claim, answer=answer if answer.grant else None, since=time.monotonic())
    runtime.sessions.next_turns.put(state.session_id, granted)
    call = turn_call(turn.facts, record)
    runtime.graph.keep_next(call, task_id=claim.task_id, parent=turn.task.id, sent_ms=state.now_ms)
    return replace(answer, numbers=tuple(it for it in answer.numbers if it != record.number))

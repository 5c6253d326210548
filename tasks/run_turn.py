"""The life of a turn: begin, speak, commit, follow-up.

Only the scripts guarantee correctness. If this code fails or its process dies at any point, an unfinished turn begins
again after its lease has expired, a finished turn answers `done`, and the sweep finds a step without a
successor.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial

from ..agents.execution.failures import failure
from ..models.errors import (
    AgentError,
    AgentFailed,
    InvalidInput,
    LeaseLost,
    SessionError,
    StateError,
    UnknownAgent,
)
from ..models.sessions.options import AgentBinding, FailurePolicy
from ..models.text.ids import new_id
from ..models.turns.directives import read_directives
from ..models.turns.turn import OutcomeKind, TurnContext, TurnOutcome, Usage
from ..state.sessions.records import Answer
from ..state.sessions.requests import Claim
from .planning.advance import hand_round
from .planning.limits import want_of_means, wish_of
from .runtime.fault_hooks import Boundary
from .runtime.graph import TurnCall
from .runtime.runtime import Runtime
from .turns.active_turn import SETTLE_S, Floor, patience_until, turn_timeout_s
from .turns.admission import Admission, admit
from .turns.ending import commit_turn, fail_turn, give_up, lose
from .turns.summary import PlanNext, TurnEnd, WakeParked
from .views.alignment import mended
from .views.decode import planned_turn
from .views.view import turn_context
from .waiting.parking import Parked, park

log = logging.getLogger(__name__)

#: Number of worker deaths after which a turn counts as failed, because the turn may be their cause.
TAKEOVERS = 8


def run_turn(runtime: Runtime, call: TurnCall, *, task_id: str, parent_id: str | None) -> TurnEnd:
    """Run one delivery of a turn."""
    facts = runtime.facts.get(call.session)
    if call.participant not in facts.roster:  # added after this process read the session
        facts = runtime.facts.newest(call.session)
    if call.participant not in facts.roster:
        return TurnEnd("unknown")
    policy = facts.spec.policy_of(call.participant)
    seats = _seats(facts.spec.agents[call.participant], policy)
    claim = Claim(
        number=call.turn,
        scope=call.scope,
        token=new_id(),
        lease_ms=runtime.limits.lease_ms,
        timeout_ms=int((turn_timeout_s(runtime, policy) + SETTLE_S) * 1000),
        window=max(runtime.registry.window(seat) for seat in seats),
        task_id=task_id,
        parent_id=parent_id or "",
        wish=wish_of(runtime.registry, facts, seats),
    )
    admission = admit(runtime, facts, call, seats, claim)
    if isinstance(admission, TurnEnd):
        return admission
    with admission:
        if not admission.may_speak:
            claim = replace(claim, admitted=False)
        return _begin(runtime, call, claim, admission)


def _begin(runtime: Runtime, call: TurnCall, claim: Claim, admission: Admission) -> TurnEnd:
    runtime.crossing(Boundary.BEFORE_BEGIN, call.session, call.turn)
    since = time.monotonic()
    answer = runtime.store.begin(call.session, claim)
    if answer.word != "granted" or answer.grant is None or answer.state is None:
        admission.unused(answer.word)
        log.debug("turn %s of %s: %s", call.turn, call.session, answer.word)
        return TurnEnd(answer.word, follow_up=_follow_up(runtime, call, answer))
    runtime.crossing(Boundary.AFTER_BEGIN, call.session, call.turn)
    facts = runtime.facts.of(call.session, answer.state)
    planned = planned_turn(answer.state, answer.state.records[call.turn], facts.roster)
    desk = runtime.desks.of(call.session, answer.grant, call.participant)
    recalled = runtime.memory.recall(facts, now_ms=answer.state.now_ms)
    policy = facts.spec.policy_of(call.participant)
    floor = Floor(
        facts, answer.state, answer.grant, planned, policy, claim.task_id, desk, since, admission, recalled
    )
    admission.begun = True
    end = _speak(runtime, floor, turn_timeout_s(runtime, policy))
    runtime.crossing(Boundary.BEFORE_ACK, call.session, call.turn)
    return end


def _follow_up(runtime: Runtime, call: TurnCall, answer: Answer) -> PlanNext | WakeParked | None:
    """Return the follow-up of a delivery whose turn was not granted."""
    if answer.word in (
        "done",
        "overdue",
    ):  # delivered again, or too late: the next step may not be planned yet
        return PlanNext(answer.state)
    if answer.word == "exhausted" and answer.lack is not None:
        return PlanNext(answer.state, exhausted=want_of_means(answer.lack, call.participant))
    if answer.word == "woken" and answer.state is not None:
        return WakeParked(runtime.facts.of(call.session, answer.state), answer.state)
    return None


def _speak(runtime: Runtime, floor: Floor, timeout_s: float) -> TurnEnd:
    if floor.grant.takeovers > TAKEOVERS:
        return give_up(runtime, floor, f"{floor.grant.takeovers} workers were lost during this turn")
    try:
        parked, outcome = _ask(runtime, floor, timeout_s)
        if outcome.question is not None:
            end = park(runtime, parked, outcome, until=patience_until(runtime, floor))
            if end.word != "stale" and parked.is_own(outcome):  # the next agent of the turn is another one
                floor.desk.clear()
            if floor.facts.has_budget:  # what it will not spend while it waits, others may
                hand_round(runtime.graph, floor.facts, runtime.store.state(floor.session_id))
            return end
    except LeaseLost:
        log.info(
            "turn %s of %s: lease lost, discarding output",
            floor.grant.number,
            floor.session_id,
        )
        lose(runtime, floor)
        return TurnEnd("lost")
    except AgentError as error:
        return fail_turn(runtime, floor, error)
    except (StateError, SessionError):
        raise  # Redis is unavailable or the session is gone: not the agent's fault; the lease expires
    except Exception as error:
        # A defect in this code: do not pay for it again and again, because it would fail each time.
        log.exception("running turn %s of %s failed", floor.grant.number, floor.session_id)
        return fail_turn(runtime, floor, failure(error, retryable=False))
    kind = OutcomeKind.MESSAGE if outcome.messages else OutcomeKind.PASSED
    return commit_turn(runtime, floor, kind, outcome)


def _seats(binding: AgentBinding, policy: FailurePolicy) -> tuple[AgentBinding, ...]:
    """Return the agents that may take the turn: which of them does is known only after the grant."""
    return (binding,) if policy.substitute is None else (binding, binding.taken_by(policy.substitute))


def _ask(runtime: Runtime, floor: Floor, timeout_s: float) -> tuple[Parked, TurnOutcome]:
    binding = floor.facts.spec.agents[floor.planned.participant].taken_by(floor.grant.substitute)
    try:
        agent = runtime.registry.seat(binding)
    except InvalidInput as error:  # this worker's registry is not the one the session was checked against
        # Another worker may know the agent.
        raise AgentFailed(str(error), retryable=isinstance(error, UnknownAgent)) from error
    context = turn_context(
        floor.facts,
        floor.state,
        floor.grant,
        floor.planned,
        window=runtime.registry.window(binding),
        timeout_s=timeout_s,
        memory=None if floor.recalled is None else floor.recalled.view,
    )
    waiting = floor.waiting
    if waiting is not None:
        context = context.model_copy(update={"answers": waiting.answers})

    uses_desk = hasattr(agent, "speak_at")

    def ask(context: TurnContext) -> TurnOutcome:
        left_s = timeout_s - (time.monotonic() - floor.since)
        desk = floor.desk.lay(partial(runtime.registry.rate, binding)) if uses_desk else None
        speaking = runtime.runner.start(agent, context, timeout_s=left_s, desk=desk)
        with runtime.leases.hold(floor.session_id, floor.grant, speaking.cancel):
            runtime.crossing(Boundary.SPEAKING, floor.session_id, floor.grant.number)
            return read_directives(context, speaking.result())

    outcome = ask(context)
    if floor.facts.spec.protocol is not None:
        outcome = mended(context, outcome, ask)
    if uses_desk and floor.own != Usage():  # as reported there, also for answers that were corrected
        outcome = outcome.model_copy(update={"usage": floor.own})
    return Parked(floor, context, binding), outcome

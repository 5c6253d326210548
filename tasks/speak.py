"""The life of a turn: begin, speak, commit, and what comes after.

Correctness rests on the scripts alone. Whatever this code does or fails to do, wherever its
process dies: an unfinished turn is begun again when its lease has run out, a finished one
answers `done`, and a step that nobody planned on is found by the sweep.
"""

from __future__ import annotations

import logging
import time
from dataclasses import replace
from functools import partial

from ..agents.failures import failure
from ..models.directives import read_directives
from ..models.errors import (
    AgentError,
    AgentFailed,
    InvalidInput,
    LeaseLost,
    SessionError,
    StateError,
    UnknownAgent,
)
from ..models.ids import new_id
from ..models.options import AgentBinding, FailurePolicy
from ..models.turn import OutcomeKind, TurnContext, TurnOutcome, Usage
from ..state.requests import Claim
from .admission import Admission, admit
from .advance import advance, hand_round
from .boundaries import Boundary
from .ending import commit_turn, fail_turn, give_up, lose
from .floor import SETTLE_S, Floor, patience_until, turn_timeout_s
from .graph import TurnCall
from .limits import want_of_means, wish_of
from .parking import Parked, park
from .protocol import mended
from .runtime import Runtime
from .turn_end import TurnEnd
from .turn_parts import planned_turn
from .view import turn_context
from .waking import wake

log = logging.getLogger(__name__)

#: Workers may die under a turn this often before it counts as failed: it may be the turn that kills them.
TAKEOVERS = 8


def run_turn(runtime: Runtime, call: TurnCall, *, task_id: str, parent_id: str | None) -> TurnEnd:
    """Runs one delivery of a turn."""
    facts = runtime.facts.get(call.session)
    if call.participant not in facts.roster:  # they came after this process had looked
        facts = runtime.facts.of(call.session, runtime.store.state(call.session))
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
    if isinstance(admission, str):
        return TurnEnd(admission)
    with admission:
        if not admission.may_speak:
            claim = replace(claim, admitted=False)
        return _begin(runtime, call, claim, admission)


def _begin(runtime: Runtime, call: TurnCall, claim: Claim, admission: Admission) -> TurnEnd:
    task_id = claim.task_id
    runtime.crossing(Boundary.BEFORE_BEGIN, call.session, call.turn)
    since = time.monotonic()
    answer = runtime.store.begin(call.session, claim)
    if answer.word in ("done", "overdue"):
        # Delivered again, or too late: make sure the graph goes on after it.
        advance(runtime, call.session, parent=task_id, state=answer.state)
    if answer.word == "exhausted" and answer.lack is not None:
        exhausted = want_of_means(answer.lack, call.participant)
        advance(runtime, call.session, parent=task_id, state=answer.state, exhausted=exhausted)
    if answer.word == "woken" and answer.state is not None:
        admission.unused(answer.word)
        return wake(runtime, runtime.facts.of(call.session, answer.state), answer.state, call.turn)
    if answer.word != "granted" or answer.grant is None or answer.state is None:
        admission.unused(answer.word)
        log.debug("turn %s of %s: %s", call.turn, call.session, answer.word)
        return TurnEnd(answer.word)
    runtime.crossing(Boundary.AFTER_BEGIN, call.session, call.turn)
    facts = runtime.facts.of(call.session, answer.state)
    planned = planned_turn(answer.state, answer.state.records[call.turn], facts.roster)
    desk = runtime.desks.of(call.session, answer.grant, call.participant)
    recalled = runtime.memory.recall(facts, now_ms=answer.state.now_ms)
    policy = facts.spec.policy_of(call.participant)
    floor = Floor(
        facts, answer.state, answer.grant, planned, policy, task_id, desk, since, admission, recalled
    )
    admission.begun = True
    end = _speak(runtime, floor, turn_timeout_s(runtime, policy))
    runtime.crossing(Boundary.BEFORE_ACK, call.session, call.turn)
    return end


def _speak(runtime: Runtime, floor: Floor, timeout_s: float) -> TurnEnd:
    if floor.grant.takeovers > TAKEOVERS:
        return give_up(runtime, floor, f"{floor.grant.takeovers} workers were lost while it spoke")
    try:
        parked, outcome = _ask(runtime, floor, timeout_s)
        if outcome.question is not None:
            end = park(runtime, parked, outcome, until=patience_until(runtime, floor))
            if end.word != "stale" and parked.is_own(outcome):  # whoever comes after is another
                floor.desk.clear()
            if floor.facts.has_budget:  # what it will not spend while it waits, others may
                hand_round(runtime.graph, floor.facts, runtime.store.state(floor.session_id))
            return end
    except LeaseLost:
        log.info(
            "turn %s of %s: the lease was lost; what was said is dropped",
            floor.grant.number,
            floor.session_id,
        )
        lose(runtime, floor)
        return TurnEnd("lost")
    except AgentError as error:
        return fail_turn(runtime, floor, error)
    except (StateError, SessionError):
        raise  # Redis is away or the session is gone: not the agent's fault, and the lease will tell
    except Exception as error:
        # Ours to mend, not to be paid for again and again: what fails here once would fail each time.
        log.exception("turn %s of %s could not be run", floor.grant.number, floor.session_id)
        return fail_turn(runtime, floor, failure(error, retryable=False))
    kind = OutcomeKind.MESSAGE if outcome.messages else OutcomeKind.PASSED
    return commit_turn(runtime, floor, kind, outcome)


def _seats(binding: AgentBinding, policy: FailurePolicy) -> tuple[AgentBinding, ...]:
    """Who may sit there: which of them does is known only once the turn is granted."""
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
    if uses_desk and floor.own != Usage():  # as it has told there, also of answers that were mended
        outcome = outcome.model_copy(update={"usage": floor.own})
    return Parked(floor, context, binding), outcome

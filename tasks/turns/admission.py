"""Admission of a turn before it begins: an agent that this worker can run, daily limit of the tenant, rate limit of the model.

An agent that this worker does not know is no attempt of the turn: before `begin`, its message is handed on to the queue
of a worker that can run the agent. If no running worker knows it, the turn waits, and the sweep checks it again once a
minute. A worker that starts with the agent finds the turn at once (`state/worker_routes.py`).

An agent that this worker knows but cannot run, because a package, a program or a variable is missing, is handed on, too.
If no other worker can run it, the turn fails here, with that reason.

Both limits are stored outside the session, in other cluster slots, so they are checked before `begin` and
booked after the turn. A turn that would wait longer than a second is deferred: it occupies no worker,
and the sweep sends it again when it is due.
"""

from __future__ import annotations

import logging
from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from redis import Redis

from ...models.errors import NewerFormat
from ...models.sessions.agent_queues import format_need
from ...models.sessions.limits import SpendingBounds
from ...models.sessions.options import AgentBinding
from ...models.sessions.stop_conditions import StopReason
from ...models.turns.turn import Usage
from ...state.sessions.records import ScriptAnswer, SessionState, Shortfall
from ...state.sessions.requests import Claim
from ...state.sessions.turn_records import TurnRecord
from ...state.usage_limits import Permit, RateLimiter, ReservationAction, Settlement, TenantAccounts
from ...state.worker_routes import RECHECK_MS, AwaitedAgents, describe_awaited
from ..planning.dispatch import format_amount, max_turn_spend
from ..runtime.graph import TurnCall
from ..runtime.runtime import Runtime
from ..runtime.turn_services import wait_for_permit
from ..views.session_views import SessionFacts
from .results import TurnEnd

NOTHING = Usage()

#: Milliseconds until a turn checks again whether other turns of its tenant have released reservations.
LOOK_AGAIN_MS = 2_000
#: Milliseconds after the turn's own deadline for which its tenant's reservation is kept.
RESERVATION_GRACE_MS = 60_000


@dataclass(slots=True)
class Admission:
    """Reservations of one delivery of a turn outside its session; settled at the end of the `with` block."""

    client: Redis
    call: TurnCall
    #: Identifies this delivery among the deliveries of its turn.
    token: str
    tenant: str | None = None
    #: True if the reservation existed before: from a failed attempt, or from another delivery.
    found: bool = False
    permit: Permit | None = None
    #: True if the turn may run. If False, it is parked or over: its due work needs no budget.
    may_run: bool = True
    #: True if the turn has begun: its model may have been called.
    begun: bool = False
    #: True if the turn is written.
    is_written: bool = False
    #: Usage of this attempt; None: unknown.
    own_usage: Usage | None = None
    #: Usage that the session booked at the end: of this attempt, and found usage of other attempts.
    booked: Usage = NOTHING
    #: Action on the reservation at the end; with LEAVE it expires.
    reservation_action: ReservationAction = ReservationAction.LEAVE
    #: Milliseconds for which the reservation is kept for the next attempt.
    keep_ms: int = 0

    def record_not_granted(self, word: str) -> None:
        """Record that the turn was not granted; `word` is the answer of `begin`."""
        if not self.found and word != "busy":  # the worker that runs the turn may use the same reservation
            self.reservation_action = ReservationAction.RELEASE

    def record_end(self, answer: ScriptAnswer, own: Usage, *, done: bool, keep_ms: int | None = None) -> None:
        """Record the end of the attempt: its tenant pays exactly what the session has booked.

        Args:
            answer: The answer of the script that ended it.
            own: Usage of this attempt; an earlier identical call booked it if the script reports none and
                `done` is True.
            done: Whether the turn still belonged to this attempt.
            keep_ms: If the turn was returned: time within which another attempt needs the reservation.
        """
        if (done and keep_ms is None) or own != NOTHING:
            self.own_usage = own
        if answer.booked is not None or done:
            self.booked = own if answer.booked is None else answer.booked
        if done and keep_ms is not None:
            self.reservation_action, self.keep_ms = ReservationAction.KEEP, keep_ms + RESERVATION_GRACE_MS
            return
        record = answer.state.records.get(self.call.turn) if answer.state and not done else None
        if record is None or not record.is_open:
            self.reservation_action = ReservationAction.RELEASE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.tenant is not None and (
            self.reservation_action is not ReservationAction.LEAVE or self.booked != NOTHING
        ):
            settlement = Settlement(
                self.token,
                self.booked,
                turns=int(self.is_written),
                action=self.reservation_action,
                keep_ms=self.keep_ms,
            )
            TenantAccounts(self.client).book_usage(self.tenant, reservation_of(self.call), settlement)
        if self.permit is not None and (self.own_usage is not None or not self.begun):
            RateLimiter(self.client).record_usage(self.permit, self.own_usage or NOTHING)


def reservation_of(call: TurnCall) -> str:
    """Return the name of a turn's reservation: the same in all its attempts, so that they share it."""
    return f"{call.session}:{call.turn}"


def admit_turn(
    runtime: Runtime,
    facts: SessionFacts,
    call: TurnCall,
    candidates: Sequence[AgentBinding],
    claim: Claim,
) -> Admission | TurnEnd:
    """Reserve what a turn may need outside its session.

    Returns:
        The admission; or the end of this delivery if the turn may not begin now.
    """
    current = _current_agent(runtime, call, candidates)
    if end := leave_to_other_worker(runtime, call, current):
        return end
    tenant, rate = facts.spec.tenant, runtime.agents.registry.rate_limit(current)
    admission = Admission(runtime.store.client, call, claim.token)
    if tenant is not None:
        most = max_turn_spend(
            facts.spec.limits, [runtime.agents.registry.spending_bound(candidate) for candidate in candidates]
        )
        word = _reserve(runtime, tenant, most, call, claim)
        is_reserved = word in ("reserved", "found")
        if not is_reserved and not _still_needs_worker(runtime, call):
            admission.may_run = False
            return admission
        if isinstance(word, Shortfall):
            return TurnEnd("exhausted", then="plan", exhausted=_tenant_limit_reason(tenant, word))
        if word == "short":
            return _defer_turn(runtime, call, LOOK_AGAIN_MS)
        admission.tenant, admission.found = tenant, word == "found"
    if rate is not None:
        permitted = wait_for_permit(RateLimiter(runtime.store.client), rate)
        if isinstance(permitted, int):
            if not _still_needs_worker(runtime, call):
                admission.may_run = False
                return admission
            with admission:
                admission.record_not_granted("later")
                return _defer_turn(runtime, call, permitted)
        admission.permit = permitted
    return admission


def _current_agent(runtime: Runtime, call: TurnCall, candidates: Sequence[AgentBinding]) -> AgentBinding:
    """Return the agent that has the turn now. Reads the state only if another agent may have taken it."""
    if len(candidates) == 1 and not runtime.agents.registry.answers_later(candidates[0]):
        return candidates[0]
    record = runtime.store.state(call.session).records.get(call.turn)
    return candidates[0].with_agent(record.agent if record else None)


def _still_needs_worker(runtime: Runtime, call: TurnCall) -> bool:
    """Return whether the turn still waits for a worker; called only if it may not run now."""
    record = runtime.store.state(call.session).records.get(call.turn)
    return record is not None and record.status in ("planned", "speaking")


def _reserve(
    runtime: Runtime, tenant: str, most: SpendingBounds, call: TurnCall, claim: Claim
) -> str | Shortfall:
    return TenantAccounts(runtime.store.client).reserve(
        tenant,
        reservation_of(call),
        most,
        limits=runtime.limits.tenant,
        expires_in_ms=claim.timeout_ms + RESERVATION_GRACE_MS,
    )


def _defer_turn(runtime: Runtime, call: TurnCall, delay_ms: int) -> TurnEnd:
    answer = runtime.store.defer(call.session, call.turn, delay_ms=delay_ms)
    if answer.due_ms is not None:
        runtime.index.set_due_by(call.session, answer.due_ms)
    return TurnEnd(answer.word)


def _tenant_limit_reason(tenant: str, lack: Shortfall) -> StopReason:
    left, wanted = format_amount(lack.unit, lack.left), format_amount(lack.unit, lack.wanted)
    detail = f"tenant {tenant}: {left} left today, but the next turn may use {wanted}"
    return StopReason(code="tenant_budget", detail=detail, broke=True)


log = logging.getLogger(__name__)

#: Milliseconds until a turn that a worker of an earlier release can run, which has no queue, is sent again to all.
_COMMON_QUEUE_DELAY_MS = 500
#: Milliseconds until a turn is sent again that was handed on to a worker whose agents have just changed.
_CHANGED_AGENTS_DELAY_MS = 2_000


def leave_to_other_worker(runtime: Runtime, call: TurnCall, binding: AgentBinding) -> TurnEnd | None:
    """Hand a turn on if this worker cannot run its agent or does not serve its queue; let it wait if no worker can.

    Returns:
        The end of this delivery; None: this worker runs the turn, or it needs no agent now.

    Raises:
        OperationalError: The broker does not answer; the sweep sends the turn again.
    """
    routes, agents = runtime.graph.routes, runtime.agents
    if routes is None or agents.can_run(format_need(binding.agent, binding.queue)):
        return None
    state = runtime.store.state(call.session)
    record = state.records.get(call.turn)
    if record is None or record.status not in ("planned", "speaking", "parked"):
        return None
    binding = binding.with_agent(record.agent)  # the turn may have been reassigned
    agent = binding.agent
    if agents.can_run(need := format_need(agent, binding.queue)):
        return None
    is_ours = agents.registry.knows(agent) and agents.queues().serve(agent, binding.queue or "")
    queue = routes.to_agent(need, fresh=True)
    if queue and not call.handed_on:
        log.info("turn %s of %s: agent %s is on other workers, handed on", call.turn, call.session, need)
        parent = record.parent or call.session
        runtime.graph.hand_on_turn(call, queue=queue, parent=parent, sent_ms=state.now_ms)
        return TurnEnd("handed-on")
    # A reminder or a deadline of a parked turn needs no agent.
    if record.status == "parked" or (is_ours and not queue):
        return None
    if queue is None:
        own_queue = binding.queue or agents.registry.queue_of(agent)
        return _await_agent(runtime, state, record, format_need(agent, own_queue))
    return _defer_turn(runtime, call, _CHANGED_AGENTS_DELAY_MS if queue else _COMMON_QUEUE_DELAY_MS)


def _await_agent(runtime: Runtime, state: SessionState, record: TurnRecord, need: str) -> TurnEnd:
    session_id = state.session_id
    answer = runtime.store.await_agent(session_id, record, need, delay_ms=RECHECK_MS)
    if answer.word != "deferred" or answer.due_ms is None:
        return TurnEnd("busy" if record.status == "speaking" else answer.word)
    AwaitedAgents(runtime.store.client).add(need, session_id, now_ms=state.now_ms)
    runtime.index.set_due_by(session_id, answer.due_ms)
    if record.lacks is None:
        why = describe_awaited([need])
        log.warning("%s: turn %s of %s waits for one", why, record.number, session_id)
    return TurnEnd("waits", f"waiting: {describe_awaited([need])}")


def check_awaited_agents(runtime: Runtime, state: SessionState, due: tuple[int, ...]) -> bool:
    """Check turns that wait for an agent, before the sweep sends those of them that are due.

    Returns:
        Whether a turn has changed: one whose agent is known now is due, any other waits again.
    """
    changed = False
    for record in state.open_turns():
        if record.lacks is None or (routes := runtime.graph.routes) is None:
            continue
        is_due = record.number in due
        # Before the turn is due, a worker that has just announced the agent has asked for this check.
        if routes.to_agent(record.lacks, fresh=not is_due) is not None:
            runtime.store.await_agent(state.session_id, record, None)
            changed = True
        elif is_due:
            _await_agent(runtime, state, record, record.lacks)
            changed = True
    return changed


def wake_awaiting_sessions(runtime: Runtime) -> None:
    """Make the sessions due that wait for an agent which this worker can run; called at each announcement."""
    awaited = AwaitedAgents(runtime.store.client)
    for need in awaited.names():
        if runtime.agents.can_run(need):
            for session_ids in awaited.take(need):
                runtime.index.set_all_due_by(session_ids, 0)


def find_newer_worker(runtime: Runtime, error: NewerFormat) -> str:
    """Return the queue of a running worker that reads the format of a session; '': there is none."""
    routes = runtime.graph.routes
    return (routes.to_format(error.written) if routes is not None else None) or ""

"""Admission of a turn before it begins: an agent that this worker can run, daily limit of the tenant, rate limit of the model.

Both limits are stored outside the session, in other cluster slots, so they are checked before `begin` and
booked after the turn. A turn that would wait longer than a second is deferred: it occupies no worker,
and the sweep sends it again when it is due.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from redis import Redis

from ...models.sessions.limits import SpendingBounds
from ...models.sessions.options import AgentBinding
from ...models.sessions.stop_conditions import StopReason
from ...models.turns.turn import Usage
from ...state.sessions.records import ScriptAnswer, Shortfall
from ...state.sessions.requests import GrantRequest
from ...state.usage_limits import Permit, RateLimiter, ReservationAction, Settlement, TenantAccounts
from ..planning.limits import format_amount, max_turn_spend
from ..runtime.graph import TurnCall
from ..runtime.runtime import Runtime
from ..runtime.turn_services import wait_for_permit
from ..views.session_views import SessionFacts
from .other_workers import leave_to_other_worker
from .results import PlanNext, TurnEnd

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
    claim: GrantRequest,
) -> Admission | TurnEnd:
    """Reserve what a turn may need outside its session.

    Returns:
        The admission; or the end of this delivery if the turn may not begin now.
    """
    current = _current_agent(runtime, call, candidates)
    if end := leave_to_other_worker(runtime, call, current.agent):
        return end
    tenant, rate = facts.spec.tenant, runtime.registry.rate_limit(current)
    admission = Admission(runtime.store.client, call, claim.token)
    if tenant is not None:
        most = max_turn_spend(
            facts.spec.limits, [runtime.registry.spending_bound(candidate) for candidate in candidates]
        )
        word = _reserve(runtime, tenant, most, call, claim)
        is_reserved = word in ("reserved", "found")
        if not is_reserved and not _still_needs_worker(runtime, call):
            admission.may_run = False
            return admission
        if isinstance(word, Shortfall):
            return TurnEnd("exhausted", follow_up=PlanNext(exhausted=_tenant_limit_reason(tenant, word)))
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
    if len(candidates) == 1 and not runtime.registry.answers_later(candidates[0]):
        return candidates[0]
    record = runtime.store.state(call.session).records.get(call.turn)
    return candidates[0].with_agent(record.agent if record else None)


def _still_needs_worker(runtime: Runtime, call: TurnCall) -> bool:
    """Return whether the turn still waits for a worker; called only if it may not run now."""
    record = runtime.store.state(call.session).records.get(call.turn)
    return record is not None and record.status in ("planned", "speaking")


def _reserve(
    runtime: Runtime, tenant: str, most: SpendingBounds, call: TurnCall, claim: GrantRequest
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

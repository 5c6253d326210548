"""Admission of a turn before it begins: known agent, daily limit of the tenant, rate limit of the model.

Both limits are kept outside the session, in cluster slots of their own, so they are checked before `begin` and
settled after the turn. A turn that has to wait for more than a moment is deferred: it occupies no worker,
and the sweep sends it again at its time.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from redis import Redis

from ...models.sessions.limits import Most
from ...models.sessions.options import AgentBinding
from ...models.sessions.stop_conditions import StopReason
from ...models.turns.turn import Usage
from ...state.limits.rates import Permit, RateBook
from ...state.limits.tenants import Fate, Settlement, TenantBooks
from ...state.sessions.records import Answer, Lack, SessionState
from ...state.sessions.requests import Claim
from ...state.workers.presence import WorkerBook
from ..planning.limits import amount, most_of_all
from ..runtime.graph import TurnCall
from ..runtime.rate_limit import permit
from ..runtime.runtime import Runtime
from ..views.view import SessionFacts
from .summary import PlanNext, TurnEnd

NOTHING = Usage()

#: Milliseconds until a turn checks again whether other turns of its tenant have released a part of their reservation.
LOOK_AGAIN_MS = 2_000
#: Milliseconds until a turn whose agent this worker does not know may reach a worker that knows it.
ELSEWHERE_MS = 500
#: Milliseconds without progress of its session for which such a turn is left to other workers.
ELSEWHERE_FOR_MS = 600_000
#: Milliseconds after the turn's own deadline for which its tenant's reservation is kept.
BEYOND_MS = 60_000


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
    may_speak: bool = True
    #: True if the turn has begun: its model may have been called.
    begun: bool = False
    #: True if the turn is written.
    is_written: bool = False
    #: Usage of this attempt; None: unknown.
    own: Usage | None = None
    #: What the session has booked at its end: this attempt's usage, and usage found of others.
    booked: Usage = NOTHING
    #: What happens to the reservation. With LEAVE it expires.
    fate: Fate = Fate.LEAVE
    #: Milliseconds for which it is kept for the next attempt.
    keep_ms: int = 0

    def unused(self, word: str) -> None:
        """Record that the turn was not granted; `word` is the answer of `begin`."""
        if not self.found and word != "busy":  # the worker that runs it may have found this very reservation
            self.fate = Fate.RELEASE

    def take(self, answer: Answer, own: Usage, *, done: bool, keep_ms: int | None = None) -> None:
        """Record the end of the attempt: its tenant pays exactly what the session has booked.

        Args:
            answer: the answer of the script that ended it.
            own: usage of this attempt. It was booked by an earlier identical call if the script reports none and was `done`.
            done: whether the turn still belonged to this attempt.
            keep_ms: if the turn was returned: time within which another attempt needs the reservation.
        """
        if (done and keep_ms is None) or own != NOTHING:
            self.own = own
        if answer.booked is not None or done:
            self.booked = own if answer.booked is None else answer.booked
        if done and keep_ms is not None:
            self.fate, self.keep_ms = Fate.KEEP, keep_ms + BEYOND_MS
            return
        record = answer.state.records.get(self.call.turn) if answer.state and not done else None
        if record is None or not record.is_open:
            self.fate = Fate.RELEASE

    def __enter__(self) -> Self:
        return self

    def __exit__(self, *_: object) -> None:
        if self.tenant is not None and (self.fate is not Fate.LEAVE or self.booked != NOTHING):
            settlement = Settlement(
                self.token, self.booked, turns=int(self.is_written), fate=self.fate, keep_ms=self.keep_ms
            )
            TenantBooks(self.client).settle(self.tenant, reservation_of(self.call), settlement)
        """Normalise an id; return '' if it is not a UUID v4."""
        if self.permit is not None and (self.own is not None or not self.begun):
            RateBook(self.client).settle(self.permit, self.own or NOTHING)


def reservation_of(call: TurnCall) -> str:
    """Return the name of a turn's reservation: the same in all its attempts, so that they share it."""
    return f"{call.session}:{call.turn}"


def admit(
    runtime: Runtime, facts: SessionFacts, call: TurnCall, seats: Sequence[AgentBinding], claim: Claim
) -> Admission | TurnEnd:
    """Reserve what a turn may need outside its session; return the end of this delivery if the turn may not begin now."""
    sitting = _sitting(runtime, call, seats)
    if _belongs_elsewhere(runtime, call, sitting.agent):
        return _put_off(runtime, call, ELSEWHERE_MS)
    tenant, rate = facts.spec.tenant, runtime.registry.rate(sitting)
    admission = Admission(runtime.store.client, call, claim.token)
    if tenant is not None:
        most = most_of_all(facts.spec.limits, [runtime.registry.most(seat) for seat in seats])
        word = _reserve(runtime, tenant, most, call, claim)
        is_reserved = word in ("reserved", "found")
        if not is_reserved and not _is_unspoken(runtime, call):
            admission.may_speak = False
            return admission
        if isinstance(word, Lack):
            return TurnEnd("exhausted", follow_up=PlanNext(exhausted=_used_up(tenant, word)))
        if word == "short":
            return _put_off(runtime, call, LOOK_AGAIN_MS)
        admission.tenant, admission.found = tenant, word == "found"
    if rate is not None:
        permitted = permit(RateBook(runtime.store.client), rate)
        if isinstance(permitted, int):
            if not _is_unspoken(runtime, call):
                admission.may_speak = False
                return admission
            with admission:
                admission.unused("later")
                return _put_off(runtime, call, permitted)
        admission.permit = permitted
    return admission


def _sitting(runtime: Runtime, call: TurnCall, seats: Sequence[AgentBinding]) -> AgentBinding:
    """Return the agent that has the turn now. Reads the state only if another agent may have taken it."""
    if len(seats) == 1 and not runtime.registry.waits(seats[0]):
        return seats[0]
    record = runtime.store.state(call.session).records.get(call.turn)
    return seats[0].taken_by(record.agent if record else None)


def _belongs_elsewhere(runtime: Runtime, call: TurnCall, agent: str) -> bool:
    """Return whether a live worker knows an agent that this one does not, and may still take the turn."""
    if runtime.registry.knows(agent):
        return False
    state = runtime.store.state(call.session)
    if not _waits_for_a_speaker(state, call):
        return False
    # That worker may serve other queues: after this time the turn fails here, like a turn without an agent.
    is_patient = state.now_ms - state.updated_ms < ELSEWHERE_FOR_MS
    return is_patient and any(agent in it.agents for it in WorkerBook(runtime.store.client).alive())


def _is_unspoken(runtime: Runtime, call: TurnCall) -> bool:
    """Return whether the turn waits for a worker that runs it. Called only if it may not run now."""
    return _waits_for_a_speaker(runtime.store.state(call.session), call)


def _waits_for_a_speaker(state: SessionState, call: TurnCall) -> bool:
    record = state.records.get(call.turn)
    return record is not None and record.status in ("planned", "speaking")


def _reserve(runtime: Runtime, tenant: str, most: Most, call: TurnCall, claim: Claim) -> str | Lack:
    return TenantBooks(runtime.store.client).reserve(
        tenant,
        reservation_of(call),
        most,
        limits=runtime.limits.tenant,
        expires_in_ms=claim.timeout_ms + BEYOND_MS,
    )


def _put_off(runtime: Runtime, call: TurnCall, delay_ms: int) -> TurnEnd:
    answer = runtime.store.defer(call.session, call.turn, delay_ms=delay_ms)
    if answer.due_ms is not None:
        runtime.index.sooner(call.session, answer.due_ms)
    return TurnEnd(answer.word)


def _used_up(tenant: str, lack: Lack) -> StopReason:
    left, wanted = amount(lack.unit, lack.left), amount(lack.unit, lack.wanted)
    detail = f"tenant {tenant}: {left} left today, but the next turn may use {wanted}"
    return StopReason(code="tenant_budget", detail=detail, broke=True)

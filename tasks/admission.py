"""Before a turn begins: whether its agent is known here, its tenant may spend more today, its model may be asked now.

The last two are kept beside the session, in cluster slots of their own, so they come before `begin` and
are settled after the turn. A turn that has to wait for more than a moment is put off: it
holds no worker, and the sweep sends it again when its time has come.
"""

from __future__ import annotations

from collections.abc import Sequence
from dataclasses import dataclass
from typing import Self

from redis import Redis

from ..models.limits import Most
from ..models.options import AgentBinding
from ..models.stop import StopReason
from ..models.turn import Usage
from ..state.rates import Permit, RateBook
from ..state.records import Answer, Lack, SessionState
from ..state.requests import Claim
from ..state.tenants import Fate, Settlement, TenantBooks
from ..state.workers import WorkerBook
from .advance import advance
from .graph import TurnCall
from .limits import amount, most_of_all
from .minutes import permit
from .runtime import Runtime
from .view import SessionFacts

NOTHING = Usage()

#: Milliseconds until a turn looks again whether its tenant's other turns have given something back.
LOOK_AGAIN_MS = 2_000
#: Milliseconds until a turn whose agent this worker does not know may reach a worker that does.
ELSEWHERE_MS = 500
#: Milliseconds without any progress of its session for which such a turn is left to others.
ELSEWHERE_FOR_MS = 600_000
#: Milliseconds beyond the turn's own deadline for which its tenant's reservation is kept.
BEYOND_MS = 60_000


@dataclass(slots=True)
class Admission:
    """What was set aside outside its session for one delivery of a turn; booked at the end of the `with` block."""

    client: Redis
    call: TurnCall
    #: Tells this delivery from the others of its turn.
    token: str
    tenant: str | None = None
    #: The reservation was there before: of an attempt that failed, or of another delivery.
    found: bool = False
    permit: Permit | None = None
    #: The turn may be spoken. If not, it is parked or over: what is due for it needs no means.
    may_speak: bool = True
    #: The turn has begun: its model may have been asked.
    begun: bool = False
    #: It is written.
    is_written: bool = False
    #: What this attempt has spent; None: nobody knows.
    own: Usage | None = None
    #: What the session has booked at its end: its own, and what was found of others.
    booked: Usage = NOTHING
    #: What becomes of the reservation. Left alone, it expires.
    fate: Fate = Fate.LEAVE
    #: For how long it is kept for the next attempt.
    keep_ms: int = 0

    def unused(self, word: str) -> None:
        """The turn was not granted, and `begin` said why."""
        if not self.found and word != "busy":  # whoever is busy with it may have found this very reservation
            self.fate = Fate.RELEASE

    def take(self, answer: Answer, own: Usage, *, done: bool, keep_ms: int | None = None) -> None:
        """The attempt has ended: its tenant pays what the session has booked, and no more.

        Args:
            answer: of the script that ended it.
            own: what it has spent: booked by the same call before, when the script tells nothing and was `done`.
            done: the turn was still its own.
            keep_ms: given back, for another attempt within that time.
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
        # An attempt that failed may have asked its model all the same: the estimate stands.
        if self.permit is not None and (self.own is not None or not self.begun):
            RateBook(self.client).settle(self.permit, self.own or NOTHING)


def reservation_of(call: TurnCall) -> str:
    """The name of what a turn has reserved: the same in all its attempts, so that it is kept between them."""
    return f"{call.session}:{call.turn}"


def admit(
    runtime: Runtime, facts: SessionFacts, call: TurnCall, seats: Sequence[AgentBinding], claim: Claim
) -> Admission | str:
    """Sets aside what a turn may need; the word for it when it may not begin now."""
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
            advance(runtime, call.session, parent=claim.task_id, exhausted=_used_up(tenant, word))
            return "exhausted"
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
    """Who has the seat by now. Looked at only where another may have taken it."""
    if len(seats) == 1 and not runtime.registry.waits(seats[0]):
        return seats[0]
    record = runtime.store.state(call.session).records.get(call.turn)
    return seats[0].taken_by(record.agent if record else None)


def _belongs_elsewhere(runtime: Runtime, call: TurnCall, agent: str) -> bool:
    """Whether a worker that is alive knows an agent that this one does not, and may still come to take the turn."""
    if runtime.registry.knows(agent):
        return False
    state = runtime.store.state(call.session)
    if not _waits_for_a_speaker(state, call):
        return False
    # That worker may be away at other queues: then the turn fails here, as one that nobody can speak.
    is_patient = state.now_ms - state.updated_ms < ELSEWHERE_FOR_MS
    return is_patient and any(agent in it.agents for it in WorkerBook(runtime.store.client).alive())


def _is_unspoken(runtime: Runtime, call: TurnCall) -> bool:
    """Whether the turn waits for a worker that speaks it. Looked at only when it may not be spoken now."""
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


def _put_off(runtime: Runtime, call: TurnCall, delay_ms: int) -> str:
    answer = runtime.store.defer(call.session, call.turn, delay_ms=delay_ms)
    if answer.due_ms is not None:
        runtime.index.sooner(call.session, answer.due_ms)
    return answer.word


def _used_up(tenant: str, lack: Lack) -> StopReason:
    left, wanted = amount(lack.unit, lack.left), amount(lack.unit, lack.wanted)
    detail = f"{tenant} has {left} left today, and the next turn may take {wanted}"
    return StopReason(code="tenant_budget", detail=detail, broke=True)

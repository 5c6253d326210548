"""The life of a turn: begin, speak, commit, and what comes after.

Correctness rests on the scripts alone. Whatever this code does or fails to do, wherever its
process dies: an unfinished turn is begun again when its lease has run out, a finished one
answers `done`, and a step that nobody planned on is found by the sweep.
"""

from __future__ import annotations

import logging
import time
from dataclasses import dataclass
from datetime import UTC, datetime
from functools import partial

from ..agents.failures import failure
from ..models.collab import CollabMode
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
from ..models.options import AfterRetries, AgentBinding, FailurePolicy
from ..models.plan import PlannedTurn
from ..models.turn import OutcomeKind, TurnContext, TurnOutcome, TurnResult
from ..models.waiting import Waiting
from ..state.plans import PlanWrite
from ..state.records import Answer, Grant, SessionState
from ..state.requests import Claim
from .admission import Admission, admit
from .advance import advance, dispatch, follow, hand_round, plan_next
from .boundaries import Boundary
from .desks import TurnDesk
from .graph import TurnCall
from .limits import want_of_means, wish_of
from .memory import Recollection
from .parking import Parked, park
from .patience import outlast_outage
from .protocol import mended
from .runtime import Runtime
from .view import SessionFacts, turn_context
from .waking import wake
from .words import Words

log = logging.getLogger(__name__)

#: Workers may die under a turn this often before it counts as failed: it may be the turn that kills them.
TAKEOVERS = 8
#: Seconds after the agent's deadline in which its turn can still be given back or closed in order.
SETTLE_S = 5.0
#: Whoever asks to be left alone for longer is asked again after this many seconds.
MOST_PATIENCE_S = 3_600.0


@dataclass(frozen=True, slots=True)
class Floor:
    """A granted turn and all that belongs to it."""

    facts: SessionFacts
    state: SessionState
    grant: Grant
    planned: PlannedTurn
    policy: FailurePolicy
    task_id: str
    desk: TurnDesk
    #: `time.monotonic()` when the grant was taken.
    since: float
    #: What was set aside for it outside its session.
    admission: Admission
    #: What is remembered; None in a session without memory.
    recalled: Recollection | None = None

    @property
    def session_id(self) -> str:
        """The session this turn belongs to."""
        return self.facts.session_id

    def now(self) -> datetime:
        """Now by the server's clock: the worker's own may be off by hours."""
        elapsed_s = time.monotonic() - self.since
        return datetime.fromtimestamp(self.state.now_ms / 1000 + elapsed_s, UTC)

    @property
    def words(self) -> Words:
        """What turns an outcome into what is written."""
        grant = self.grant
        return Words(self.facts, self.planned, grant.number, grant.token, grant.fence, self.waiting)

    @property
    def waiting(self) -> Waiting | None:
        """What was asked and answered in this turn before; None for nearly every turn."""
        text = self.state.records[self.grant.number].wait
        return Waiting.model_validate_json(text) if text else None


def run_turn(runtime: Runtime, call: TurnCall, *, task_id: str, parent_id: str | None) -> str:
    """Runs one delivery of a turn; answers the word of the script that decided about it."""
    facts = runtime.facts.get(call.session)
    if call.participant not in facts.roster:  # they came after this process had looked
        facts = runtime.facts.of(call.session, runtime.store.state(call.session))
    if call.participant not in facts.roster:
        return "unknown"
    policy = facts.spec.policy_of(call.participant)
    seats = _seats(facts.spec.agents[call.participant], policy)
    claim = Claim(
        number=call.turn,
        scope=call.scope,
        token=new_id(),
        lease_ms=runtime.limits.lease_ms,
        timeout_ms=int((_timeout_s(runtime, policy) + SETTLE_S) * 1000),
        window=max(runtime.registry.window(seat) for seat in seats),
        task_id=task_id,
        parent_id=parent_id or "",
        wish=wish_of(runtime.registry, facts, seats),
    )
    admission = admit(runtime, facts, call, seats, claim)
    if isinstance(admission, str):
        return admission
    with admission:
        return _begin(runtime, call, claim, admission)


def _begin(runtime: Runtime, call: TurnCall, claim: Claim, admission: Admission) -> str:
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
        return wake(runtime, runtime.facts.of(call.session, answer.state), answer.state, call.turn)
    if answer.word != "granted" or answer.grant is None or answer.state is None:
        log.debug("turn %s of %s: %s", call.turn, call.session, answer.word)
        return answer.word
    runtime.crossing(Boundary.AFTER_BEGIN, call.session, call.turn)
    facts = runtime.facts.of(call.session, answer.state)
    planned = PlannedTurn.model_validate_json(answer.state.records[call.turn].plan or "{}")
    desk = runtime.desks.of(call.session, answer.grant, call.participant)
    recalled = runtime.memory.recall(facts, now_ms=answer.state.now_ms)
    policy = facts.spec.policy_of(call.participant)
    floor = Floor(
        facts, answer.state, answer.grant, planned, policy, task_id, desk, since, admission, recalled
    )
    admission.begun = True
    word = _speak(runtime, floor, _timeout_s(runtime, policy))
    runtime.crossing(Boundary.BEFORE_ACK, call.session, call.turn)
    return word


def _timeout_s(runtime: Runtime, policy: FailurePolicy) -> float:
    return policy.turn_timeout_s or runtime.limits.turn_timeout_s


def _speak(runtime: Runtime, floor: Floor, timeout_s: float) -> str:
    if floor.grant.takeovers > TAKEOVERS:
        return _give_up(runtime, floor, f"{floor.grant.takeovers} workers were lost while it spoke")
    try:
        parked, outcome = _ask(runtime, floor, timeout_s)
        if outcome.question is not None:
            word = park(runtime, parked, outcome)
            if floor.facts.has_budget:  # what it will not spend while it waits, others may
                hand_round(runtime.graph, floor.facts, runtime.store.state(floor.session_id))
            return word
    except LeaseLost:
        log.info(
            "turn %s of %s: the lease was lost; what was said is dropped",
            floor.grant.number,
            floor.session_id,
        )
        return "lost"
    except AgentError as error:
        return _failed(runtime, floor, error)
    except (StateError, SessionError):
        raise  # Redis is away or the session is gone: not the agent's fault, and the lease will tell
    except Exception as error:
        # Ours to mend, not to be paid for again and again: what fails here once would fail each time.
        log.exception("turn %s of %s could not be run", floor.grant.number, floor.session_id)
        return _failed(runtime, floor, failure(error, retryable=False))
    kind = OutcomeKind.MESSAGE if outcome.messages else OutcomeKind.PASSED
    return _commit(runtime, floor, kind, outcome)


def _seated(binding: AgentBinding, substitute: str | None) -> AgentBinding:
    return binding.taken_by(substitute)


def _seats(binding: AgentBinding, policy: FailurePolicy) -> tuple[AgentBinding, ...]:
    """Who may sit there: which of them does is known only once the turn is granted."""
    return (binding,) if policy.substitute is None else (binding, _seated(binding, policy.substitute))


def _ask(runtime: Runtime, floor: Floor, timeout_s: float) -> tuple[Parked, TurnOutcome]:
    binding = _seated(floor.facts.spec.agents[floor.planned.participant], floor.grant.substitute)
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

    def ask(context: TurnContext) -> TurnOutcome:
        left_s = timeout_s - (time.monotonic() - floor.since)
        desk = floor.desk.lay() if hasattr(agent, "speak_at") else None
        speaking = runtime.runner.start(agent, context, timeout_s=left_s, desk=desk)
        with runtime.leases.hold(floor.session_id, floor.grant, speaking.cancel):
            runtime.crossing(Boundary.SPEAKING, floor.session_id, floor.grant.number)
            return read_directives(context, speaking.result())

    outcome = ask(context)
    if floor.facts.spec.protocol is not None:
        outcome = mended(context, outcome, ask)
    return Parked(floor.facts, floor.state, floor.grant, context, binding, waiting), outcome


def _commit(
    runtime: Runtime,
    floor: Floor,
    kind: OutcomeKind,
    outcome: TurnOutcome | None = None,
    *,
    error: str | None = None,
) -> str:
    outcome = outcome or TurnOutcome()
    words = floor.words
    result = words.result(kind, outcome, error=error)
    if floor.recalled is not None:
        result = runtime.memory.kept(floor.recalled, result, outcome)
    speech = words.speech(result, outcome, now=floor.now())
    write = _plan_ahead(runtime, floor, result)
    runtime.crossing(Boundary.BEFORE_COMMIT, floor.session_id, floor.grant.number)
    answer = outlast_outage(
        partial(runtime.store.commit, floor.session_id, floor.grant, speech, then=write),
        until=floor.since + _timeout_s(runtime, floor.policy) + SETTLE_S,
        what=f"turn {floor.grant.number} of {floor.session_id}",
    )
    runtime.crossing(Boundary.AFTER_COMMIT, floor.session_id, floor.grant.number)
    if answer.word in ("committed", "held", "done"):
        floor.desk.clear()
        floor.admission.usage = speech.usage
    _go_on(runtime, floor, answer, write)
    return answer.word


def _plan_ahead(runtime: Runtime, floor: Floor, result: TurnResult) -> PlanWrite | None:
    """The next step, to be written in the same instant as the turn: a round trip less.

    Beside other turns the next step waits for them all, but in a swarm, where it is outdated only if
    one of them has closed in the meantime. And it waits for what the turn leaves in memory.
    """
    if floor.recalled is not None and floor.recalled.is_kept:
        return None
    beside_others = len(floor.state.open_turns()) > 1
    if beside_others and floor.facts.collab.mode is not CollabMode.SWARM:
        return None
    try:
        return plan_next(
            floor.facts,
            floor.state,
            parent=floor.task_id,
            retention_ms=runtime.limits.retention_ms,
            said=result,
        )
    except Exception:
        # What was said is paid for and is written all the same; `advance` will meet the defect again.
        log.exception("no plan after turn %s of %s", result.number, floor.session_id)
        return None


def _go_on(runtime: Runtime, floor: Floor, answer: Answer, write: PlanWrite | None) -> None:
    if answer.word not in ("committed", "done"):
        log.info("turn %s of %s: commit answered %s", floor.grant.number, floor.session_id, answer.word)
        return
    if write is not None and follow(runtime, floor.facts, answer, write, parent=floor.task_id):
        return
    advance(runtime, floor.session_id, parent=floor.task_id, state=answer.state)


def _failed(runtime: Runtime, floor: Floor, error: AgentError) -> str:
    policy, failures = floor.policy, floor.grant.failures + 1
    line = str(error)[:500]
    log.warning(
        "turn %s of %s failed (%d of %d): %s",
        floor.grant.number,
        floor.session_id,
        failures,
        policy.attempts,
        line,
    )
    if error.retryable and failures < policy.attempts:
        delay_ms = int(max(policy.delay_s(failures), min(error.retry_after_s or 0, MOST_PATIENCE_S)) * 1000)
        answer = runtime.store.fail(
            floor.session_id, floor.grant, delay_ms=delay_ms, error=line, spent=floor.desk.spent()
        )
        if answer.due_ms is not None:
            runtime.index.sooner(floor.session_id, answer.due_ms)
        if answer.state is not None:
            hand_round(runtime.graph, floor.facts, answer.state)
        return answer.word
    return _give_up(runtime, floor, line)


def _give_up(runtime: Runtime, floor: Floor, line: str) -> str:
    policy = floor.policy
    if policy.then is AfterRetries.SUBSTITUTE and policy.substitute and floor.grant.substitute is None:
        answer = runtime.store.fail(
            floor.session_id,
            floor.grant,
            delay_ms=0,
            error=line,
            agent=policy.substitute,
            spent=floor.desk.spent(),
        )
        if answer.word == "retried":
            dispatch(runtime.graph, floor.facts, floor.state, [floor.grant.number])
        return answer.word
    kind = OutcomeKind.SKIPPED if policy.then is AfterRetries.SKIP else OutcomeKind.FAILED
    return _commit(runtime, floor, kind, TurnOutcome(usage=floor.desk.spent()), error=line)

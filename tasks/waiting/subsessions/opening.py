"""The sub-session that a turn waits for: its id, its document, its share of the budget; its opening, and checks of it.

Its id follows from the parent's id, the turn, and the number of the sub-session in the turn. So it is opened once,
however many workers try, and after the death of any of them. It is checked in case its answer was lost.
"""

from __future__ import annotations

import json
import logging

from ....agents.kinds.session import SessionAgent
from ....models.errors import (
    AgentFailed,
    ArchiveUnavailable,
    BadOutcome,
    ConversationError,
    InvalidInput,
    SessionConflict,
    SessionNotFound,
    UnknownAgent,
)
from ....models.modes import mode_of
from ....models.protocol.collab import CollabStatus
from ....models.sessions.options import AgentBinding
from ....models.sessions.plan import Totals
from ....models.sessions.stop_conditions import CostBudget, Deadline, StopCondition, TokenBudget
from ....models.sessions.submission import Submission
from ....models.sessions.subsessions import ParentRef
from ....models.text.ids import attempt_span_id, trace_id
from ....models.turns.turn import Question, TurnContext, Usage
from ....models.turns.waiting import ChildSession
from ....state.presence import WorkerPresence, all_agents
from ....state.sessions.family import FamilyStore
from ....state.turns.parked import EventData, ReplyRule
from ....state.worker_routes import AwaitedAgents
from ...runtime.runtime import Boundary, Runtime
from ...turns.results import TurnEnd
from ...turns.turn import Turn
from ..parked_turn import ParkedTurn
from ..replies import fail_parked_turn, record_work
from .answers import ChildResult, answer_call, give_answer, read_archived_result, read_result
from .tree import cancel_child


def find_session(runtime: Runtime, name: str) -> SessionAgent:
    """Return the registered session that an agent calls.

    Raises:
        BadOutcome: There is no such session.
    """
    try:
        agent = runtime.agents.registry.get_agent(AgentBinding(agent=name))
    except InvalidInput as error:
        raise BadOutcome(f"question.session: {error}") from None
    if not isinstance(agent, SessionAgent):
        raise BadOutcome(f"question.session: must be an agent of kind session (got {name!r})")
    return agent


def next_child(turn: Turn) -> ParentRef:
    """Return the place of the sub-session that this attempt of a turn opens; it has the id `child_id`."""
    before = turn.waiting
    call = len(before.answers) + before.passed_on if before else 0
    return ParentRef.below(turn.session_id, turn.facts.spec.parent, turn=turn.grant.number, call=call)


def plan_child(
    runtime: Runtime, turn: Turn, context: TurnContext, agent: SessionAgent, question: Question
) -> ChildSession:
    """Return the sub-session of a turn.

    Raises:
        AgentFailed: It would be nested too deep, or no budget is left for it; not retryable.
    """
    ref = next_child(turn)
    if ref.depth > runtime.limits.max_depth:
        rule = f"at most {runtime.limits.max_depth} sessions may be above it (SYMPOSIA_MAX_SUBSESSION_DEPTH)"
        raise AgentFailed(f"sub-session not opened: {rule}", retryable=False)
    is_call = question.session is not None
    document = agent.opening_of_call(context, question.text) if is_call else agent.opening_of_turn(context)
    limits, reserved = turn.facts.limits, turn.state.records[turn.grant.number].reserved
    spent = turn.own_usage
    return ChildSession(
        session_id=ref.child_id,
        call=ref.call,
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


#: Milliseconds until the first check of an open sub-session; each later delay is twice the previous one.
FIRST_CHECK_MS = 5_000
LAST_CHECK_MS = 600_000

_NOT_ADOPTED = {
    "ended": "the session at the top of the tree has ended",
    "missing": "the session at the top of the tree was not found",
}


def child_submission(parked: ParkedTurn, child: ChildSession) -> Submission:
    """Return the submission of a sub-session, with what it inherits from its parent.

    Raises:
        InvalidInput: Its document breaks a rule.
    """
    facts = parked.facts
    given = Submission.of_subsession(json.loads(child.document), "session")
    ref = ParentRef.below(facts.session_id, facts.spec.parent, turn=parked.number, call=child.call)
    return given.model_copy(
        update={
            "collab": given.collab.changed(collab_id=ref.child_id, context_id=facts.collab.context_id),
            "stop": _stop(parked, child, given.stop or mode_of(given.collab.mode).default_stop),
            "tenant": facts.spec.tenant,
            "priority": facts.spec.priority,
            "owner": facts.spec.owner,
            "record": (facts.spec.record or None) if given.record is None else given.record,
            "parent": ref,
        }
    )


def _stop(parked: ParkedTurn, child: ChildSession, stop: StopCondition) -> StopCondition:
    """Return the stop condition with the budget of the turn, and with the rest of the parent's deadline."""
    if child.tokens is not None:
        stop |= TokenBudget(child.tokens)
    if child.cost_micros is not None:
        stop |= CostBudget(child.cost_micros / 1e6)
    seconds = parked.facts.spec.stop.remaining(Totals()).seconds
    if seconds is not None:
        ends_ms = parked.state.started_ms + seconds * 1000
        stop |= Deadline(max((ends_ms - parked.state.now_ms) / 1000, 0.001))
    return stop


def open_child(runtime: Runtime, parked: ParkedTurn, child: ChildSession) -> TurnEnd:
    """Open the sub-session of a parked turn, and record that it is open."""
    runtime.fault_hook(Boundary.AFTER_PARK, parked.facts.session_id, parked.number)
    if parked.state.status is not CollabStatus.ACTIVE:
        return TurnEnd("parked", "parked: its session opens when this one is resumed")
    binding = parked.facts.spec.agents[parked.record.participant].with_agent(parked.record.agent)
    if not runtime.agents.registry.knows(binding.agent):
        return _wait_for_agent(runtime, parked, binding.agent)
    try:
        submission = child_submission(parked, child)
        word = _adopt(runtime, submission)
        if word != "adopted":
            limit = (
                f"a tree has at most {runtime.limits.max_subsessions} sub-sessions (SYMPOSIA_MAX_SUBSESSIONS)"
            )
            return _refused(runtime, parked, _NOT_ADOPTED.get(word, limit))
        _open(runtime, parked, submission)
    except UnknownAgent as error:
        # The session was checked when it was submitted, or with the agents file: the worker with the agent is not running.
        if runtime.graph.routes is not None:
            return _wait_for_agent(runtime, parked, error.name)
        return _refused(runtime, parked, str(error))
    except (InvalidInput, ConversationError) as error:
        return _refused(runtime, parked, str(error))
    runtime.fault_hook(Boundary.AFTER_OPEN, parked.facts.session_id, parked.number)
    opened = child.model_copy(
        update={"document": "", "due_ms": parked.state.now_ms + FIRST_CHECK_MS, "checks": 0}
    )
    about: EventData = {"session_id": child.session_id, "title": submission.collab.title}
    waiting = parked.waiting.model_copy(update={"child": opened})
    answer = record_work(runtime, parked, waiting, event="session.opened", about=about, happened=True)
    if answer == "gone" and not _is_answered(runtime, child):
        cancel_child(
            runtime, parked.facts.session_id, parked.number, child.session_id, detail="no longer needed"
        )
    return TurnEnd(answer, f"parked: waiting for session {child.session_id[:8]}")


def _wait_for_agent(runtime: Runtime, parked: ParkedTurn, agent: str) -> TurnEnd:
    """Leave the turn parked: it is due again after the time of a lease."""
    routes = runtime.graph.routes
    if routes is not None and routes.to_agent(agent, fresh=True) is None:
        awaited = AwaitedAgents(runtime.store.client)
        awaited.add(agent, parked.facts.session_id, now_ms=parked.state.now_ms)
    return TurnEnd("parked", f"parked: its session opens when a worker knows agent {agent}")


def _adopt(runtime: Runtime, submission: Submission) -> str:
    assert submission.parent is not None  # noqa: S101 - `child_submission` sets it
    return FamilyStore(runtime.store.client).adopt(submission.parent, limit=runtime.limits.max_subsessions)


def _open(runtime: Runtime, parked: ParkedTurn, submission: Submission) -> None:
    parent, record = parked.facts.session_id, parked.record
    span = f"00-{trace_id(parent)}-{attempt_span_id(parent, record.number, record.grants)}-01"
    known_agents = all_agents(WorkerPresence(runtime.store.client).list_alive())
    try:
        runtime.sessions.opener.open(
            submission, known_agents=known_agents, submitted_in=span if runtime.ports.tracing else None
        )
    except SessionConflict as error:
        # It is open: an earlier attempt had another rest of the deadline.
        links = FamilyStore(runtime.store.client).links(submission.collab.collab_id)
        if links.parent != (parent, record.number):
            raise InvalidInput("collab_id", submission.collab.collab_id, str(error)) from None


def _refused(runtime: Runtime, parked: ParkedTurn, line: str) -> TurnEnd:
    line = f"sub-session not opened: {line}"[:500]
    if parked.waiting.is_own:
        return fail_parked_turn(runtime, parked, line, rule=ReplyRule.CHILD)
    return answer_call(runtime, parked, None, error=line)


def _is_answered(runtime: Runtime, child: ChildSession) -> bool:
    """Return whether the sub-session has ended, so that its answer ended the wait."""
    return runtime.store.state(child.session_id).is_final


log = logging.getLogger(__name__)


def tend_child(runtime: Runtime, parked: ParkedTurn, child: ChildSession) -> TurnEnd:
    """Open the sub-session of a parked turn, or take its answer if it has ended."""
    if not child.is_open:
        return open_child(runtime, parked, child)
    try:
        state = runtime.store.state(child.session_id)
    except SessionNotFound:
        return _lost(runtime, parked, child)
    if state.is_final:
        return give_answer(runtime, parked, read_result(runtime, state))
    return _check_later(runtime, parked, child)


def _check_later(runtime: Runtime, parked: ParkedTurn, child: ChildSession) -> TurnEnd:
    delay_ms = min(FIRST_CHECK_MS * 2 ** min(child.checks + 1, 20), LAST_CHECK_MS)
    checked = child.model_copy(update={"checks": child.checks + 1, "due_ms": parked.state.now_ms + delay_ms})
    waiting = parked.waiting.model_copy(update={"child": checked})
    word = record_work(runtime, parked, waiting, event="", about={})
    return TurnEnd(word, f"parked: waiting for session {child.session_id[:8]}")


#: Checks for which a missing sub-session may still be restored, after Redis has lost it.
_CHECKS_UNTIL_LOST = 8


def _lost(runtime: Runtime, parked: ParkedTurn, child: ChildSession) -> TurnEnd:
    """Take the result of a sub-session that Redis has lost from the archive; otherwise wait, then answer with an error."""
    archived = None
    if runtime.ports.archiver is not None:
        try:
            archived = read_archived_result(runtime.ports.archiver.target, child.session_id)
        except ArchiveUnavailable as error:
            log.warning("reading sub-session %s from the archive failed: %s", child.session_id, error)
    if archived is not None:
        return give_answer(runtime, parked, archived)
    if child.checks < _CHECKS_UNTIL_LOST:
        return _check_later(runtime, parked, child)
    line = f"sub-session {child.session_id} not found (lost or expired)"
    return give_answer(runtime, parked, ChildResult(child.session_id, Usage(), error=line))

"""The sub-session that a turn is about to wait for: its id, its document, and its share of the budget."""

from __future__ import annotations

import json
import logging
from dataclasses import replace

from ....agents.sessions import SessionAgent
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
from ...turns.active_turn import ActiveTurn
from ...turns.results import TurnEnd
from ..parked_turn import OpenQuestion
from ..replies import fail_parked_turn, record_work
from .answers import ChildResult, answer_call, give_answer, read_archived_result, read_result
from .tree import cancel_child


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


#: Milliseconds until the first check of an open sub-session; each later delay is twice the previous one.
FIRST_CHECK_MS = 5_000
LAST_CHECK_MS = 600_000

_NOT_ADOPTED = {
    "ended": "the session at the top of the tree has ended",
    "missing": "the session at the top of the tree was not found",
}


def child_submission(asked: OpenQuestion, child: ChildSession) -> Submission:
    """Return the submission of a sub-session, with what it inherits from its parent.

    Raises:
        InvalidInput: Its document breaks a rule.
    """
    facts = asked.facts
    given = Submission.of_subsession(json.loads(child.document), "session")
    ref = ParentRef.below(facts.session_id, facts.spec.parent, turn=asked.number, call=child.call)
    return replace(
        given,
        collab=given.collab.changed(collab_id=ref.child_id, context_id=facts.collab.context_id),
        stop=_stop(asked, child, given.stop or mode_of(given.collab.mode).default_stop),
        tenant=facts.spec.tenant,
        record=(facts.spec.record or None) if given.record is None else given.record,
        parent=ref,
    )


def _stop(asked: OpenQuestion, child: ChildSession, stop: StopCondition) -> StopCondition:
    """Return the stop condition with the budget of the turn, and with the rest of the parent's deadline."""
    if child.tokens is not None:
        stop |= TokenBudget(child.tokens)
    if child.cost_micros is not None:
        stop |= CostBudget(child.cost_micros / 1e6)
    seconds = asked.facts.spec.stop.remaining(Totals()).seconds
    if seconds is not None:
        ends_ms = asked.state.started_ms + seconds * 1000
        stop |= Deadline(max((ends_ms - asked.state.now_ms) / 1000, 0.001))
    return stop


def open_child(runtime: Runtime, asked: OpenQuestion, child: ChildSession) -> TurnEnd:
    """Open the sub-session of a parked turn, and record that it is open."""
    runtime.fault_hook(Boundary.AFTER_PARK, asked.facts.session_id, asked.number)
    if asked.state.status is not CollabStatus.ACTIVE:
        return TurnEnd("parked", "parked: its session opens when this one is resumed")
    binding = asked.facts.spec.agents[asked.record.participant].with_agent(asked.record.agent)
    if not runtime.registry.knows(binding.agent):
        return _wait_for_agent(runtime, asked, binding.agent)
    try:
        submission = child_submission(asked, child)
        word = _adopt(runtime, submission)
        if word != "adopted":
            limit = (
                f"a tree has at most {runtime.limits.max_subsessions} sub-sessions (SYMPOSIA_MAX_SUBSESSIONS)"
            )
            return _refused(runtime, asked, _NOT_ADOPTED.get(word, limit))
        _open(runtime, asked, submission)
    except UnknownAgent as error:
        # The session was checked when it was submitted, or with the agents file: the worker with the agent is not running.
        if runtime.graph.routes is not None:
            return _wait_for_agent(runtime, asked, error.name)
        return _refused(runtime, asked, str(error))
    except (InvalidInput, ConversationError) as error:
        return _refused(runtime, asked, str(error))
    runtime.fault_hook(Boundary.AFTER_OPEN, asked.facts.session_id, asked.number)
    opened = child.model_copy(
        update={"document": "", "due_ms": asked.state.now_ms + FIRST_CHECK_MS, "checks": 0}
    )
    about: EventData = {"session_id": child.session_id, "title": submission.collab.title}
    waiting = asked.waiting.model_copy(update={"child": opened})
    answer = record_work(runtime, asked, waiting, event="session.opened", about=about, happened=True)
    if answer == "gone" and not _is_answered(runtime, child):
        cancel_child(
            runtime, asked.facts.session_id, asked.number, child.session_id, detail="no longer needed"
        )
    return TurnEnd(answer, f"parked: waiting for session {child.session_id[:8]}")


def _wait_for_agent(runtime: Runtime, asked: OpenQuestion, agent: str) -> TurnEnd:
    """Leave the turn parked: it is due again after the time of a lease."""
    routes = runtime.graph.routes
    if routes is not None and routes.to_agent(agent, fresh=True) is None:
        awaited = AwaitedAgents(runtime.store.client)
        awaited.add(agent, asked.facts.session_id, now_ms=asked.state.now_ms)
    return TurnEnd("parked", f"parked: its session opens when a worker knows agent {agent}")


def _adopt(runtime: Runtime, submission: Submission) -> str:
    assert submission.parent is not None  # noqa: S101 - `child_submission` sets it
    return FamilyStore(runtime.store.client).adopt(submission.parent, limit=runtime.limits.max_subsessions)


def _open(runtime: Runtime, asked: OpenQuestion, submission: Submission) -> None:
    parent, record = asked.facts.session_id, asked.record
    span = f"00-{trace_id(parent)}-{attempt_span_id(parent, record.number, record.grants)}-01"
    known = all_agents(WorkerPresence(runtime.store.client).list_alive())
    try:
        runtime.opener.open(submission, known_agents=known, submitted_in=span if runtime.tracing else None)
    except SessionConflict as error:
        # It is open: an earlier attempt had another rest of the deadline.
        links = FamilyStore(runtime.store.client).links(submission.collab.collab_id)
        if links.parent != (parent, record.number):
            raise InvalidInput("collab_id", submission.collab.collab_id, str(error)) from None


def _refused(runtime: Runtime, asked: OpenQuestion, line: str) -> TurnEnd:
    line = f"sub-session not opened: {line}"[:500]
    if asked.waiting.is_own:
        return fail_parked_turn(runtime, asked, line, rule=ReplyRule.CHILD)
    return answer_call(runtime, asked, None, error=line)


def _is_answered(runtime: Runtime, child: ChildSession) -> bool:
    """Return whether the sub-session has ended, so that its answer ended the wait."""
    return runtime.store.state(child.session_id).is_final


log = logging.getLogger(__name__)


def tend_child(runtime: Runtime, asked: OpenQuestion, child: ChildSession) -> TurnEnd:
    """Open the sub-session of a parked turn, or take its answer if it has ended."""
    if not child.is_open:
        return open_child(runtime, asked, child)
    try:
        state = runtime.store.state(child.session_id)
    except SessionNotFound:
        return _lost(runtime, asked, child)
    if state.is_final:
        return give_answer(runtime, asked, read_result(runtime, state))
    return _check_later(runtime, asked, child)


def _check_later(runtime: Runtime, asked: OpenQuestion, child: ChildSession) -> TurnEnd:
    delay_ms = min(FIRST_CHECK_MS * 2 ** min(child.checks + 1, 20), LAST_CHECK_MS)
    checked = child.model_copy(update={"checks": child.checks + 1, "due_ms": asked.state.now_ms + delay_ms})
    waiting = asked.waiting.model_copy(update={"child": checked})
    word = record_work(runtime, asked, waiting, event="", about={})
    return TurnEnd(word, f"parked: waiting for session {child.session_id[:8]}")


#: Checks for which a missing sub-session may still be restored, after Redis has lost it.
_CHECKS_UNTIL_LOST = 8


def _lost(runtime: Runtime, asked: OpenQuestion, child: ChildSession) -> TurnEnd:
    """Take the result of a sub-session that Redis has lost from the archive; otherwise wait, then answer with an error."""
    archived = None
    if runtime.archiver is not None:
        try:
            archived = read_archived_result(runtime.archiver.target, child.session_id)
        except ArchiveUnavailable as error:
            log.warning("reading sub-session %s from the archive failed: %s", child.session_id, error)
    if archived is not None:
        return give_answer(runtime, asked, archived)
    if child.checks < _CHECKS_UNTIL_LOST:
        return _check_later(runtime, asked, child)
    line = f"sub-session {child.session_id} not found (lost or expired)"
    return give_answer(runtime, asked, ChildResult(child.session_id, Usage(), error=line))

"""One attempt of a turn: its context, the requests to its agent, and what its answer must be.

A turn that must give the output of the session is asked again once. The first invalid answer is stored in the turn's
journal before that, so a worker that takes over the turn of a dead worker asks for the correction only.

Attachments of an answer are stored before the turn is written.
"""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from functools import partial

from pydantic import ValidationError

from ..agents.agent import AnyAgent, TurnServices
from ..alignment.turn_format import correct_outcome
from ..models.attachments import FULL, Attachment, check_attachments, reading_with
from ..models.directives import read_directives
from ..models.errors import (
    AgentFailed,
    AttachmentUnavailable,
    BadOutcome,
    InvalidInput,
    UnknownAgent,
    invalid_input,
)
from ..models.sessions.limits import has_budget_to_ask_again
from ..models.turns.turn import NO_USAGE, DraftMessage, TurnContext, TurnOutcome
from ..state.sessions.attachments import AttachmentStore
from .guards import Guards, GuardStop
from .runtime.history import MAX_EARLIER, TurnAttachments
from .runtime.leases import RenewedLease
from .runtime.runtime import Boundary, Runtime
from .turns.learned import correct_learned, may_correct
from .turns.results import ask_for_correction, describe_faults, find_output_faults, read_output
from .turns.turn import Turn, retry_during_outage
from .views.session_views import SessionFacts
from .views.turn_context import item_results, recall_query, turn_context

log = logging.getLogger(__name__)


def ask_agent(runtime: Runtime, turn: Turn) -> tuple[TurnContext, TurnOutcome, GuardStop | None]:
    """Return the context of the turn with the answer of its agent, or with the stop by a guard.

    Raises:
        AgentError: The agent is unknown here, or failed.
        LeaseLost: Another worker has the turn.
        StateError: The live state in Redis cannot be read or changed.
    """
    with runtime.agents.leases.keep_renewed(turn.session_id, turn.grant) as lease:
        return _ask_with_lease(runtime, turn, lease)


def _ask_with_lease(
    runtime: Runtime, turn: Turn, lease: RenewedLease
) -> tuple[TurnContext, TurnOutcome, GuardStop | None]:
    try:
        agent = runtime.agents.registry.get_agent(turn.binding)
    except InvalidInput as error:  # the session was checked against another registry
        # Another worker may know the agent.
        raise AgentFailed(str(error), retryable=isinstance(error, UnknownAgent)) from error
    context = _context(runtime, turn)
    run = partial(run_agent, runtime, turn, lease)
    ask: Callable[[TurnContext], TurnOutcome] = partial(_ask, runtime, turn, agent, run)
    if turn.recorder is not None:
        ask = turn.recorder.wrap(turn.binding, ask)
    reports_usage = _uses_services(agent)
    before = (
        NO_USAGE if turn.recall is None or reports_usage else turn.own_usage
    )  # of the parser of a sentence
    guards = Guards(runtime, turn, context, run, reports_usage)
    try:
        outcome = guards.guard(partial(_answer, runtime, turn, agent, ask))
    except GuardStop as stop:
        return context, TurnOutcome(), stop
    # The reported usage includes answers that were corrected.
    if reports_usage and turn.own_usage != NO_USAGE:
        outcome = outcome.model_copy(update={"usage": turn.own_usage})
    elif before != NO_USAGE:
        outcome = outcome.model_copy(update={"usage": before + outcome.usage})
    return context, outcome, None


def _context(runtime: Runtime, turn: Turn) -> TurnContext:
    facts, waiting = turn.facts, turn.waiting
    window = runtime.agents.registry.window(turn.binding)
    context = turn_context(
        facts,
        turn.state,
        turn.grant,
        turn.planned,
        turn.messages,
        window=window,
        earlier=runtime.sessions.history.before(facts, window - len(turn.messages)),
        timeout_s=turn.timeout_s,
    )
    update: dict[str, object] = {}
    if turn.recall is not None:
        update["memory"] = turn.recall.view
    if not context.position.is_whole:
        update["opening"] = runtime.sessions.history.opening(turn.session_id, turn.state.opened_ms)
    if about := _descriptions(runtime, facts):
        update["descriptions"] = about
    if facts.spec.recall is not None:
        update["recalled"] = runtime.ports.recollections.recall(facts, recall_query(context))
    is_fork = facts.spec.history is not None and facts.spec.history.before_turn is not None
    results = item_results(
        runtime.store,
        turn.session_id,
        turn.planned,
        earlier=partial(runtime.sessions.history.before, facts, MAX_EARLIER) if is_fork else tuple,
    )
    if results:
        update["item_results"] = results
    if waiting is not None:
        update["answers"] = waiting.answers
    return context.model_copy(update=update) if update else context


def _descriptions(runtime: Runtime, facts: SessionFacts) -> dict[str, str]:
    """Return what the participants are for: as the session says, or else as their agents say."""
    return {**runtime.agents.registry.introductions(facts.agents), **facts.descriptions}


def _uses_services(agent: AnyAgent) -> bool:
    return hasattr(agent, "speak_with_services")


def run_agent(
    runtime: Runtime,
    turn: Turn,
    lease: RenewedLease,
    agent: AnyAgent,
    context: TurnContext,
    turn_services: TurnServices | None = None,
) -> TurnOutcome:
    """Run an agent with the deadline and the lease of the turn."""
    speaking = runtime.agents.runner.start(
        agent,
        context,
        timeout_s=turn.timeout_s - (time.monotonic() - turn.since),
        turn_services=turn_services,
        attachments=TurnAttachments(runtime.sessions.history, turn.facts),
    )
    with lease.cancel_when_lost(speaking.cancel):
        runtime.fault_hook(Boundary.SPEAKING, turn.session_id, turn.number)
        return store_attachments(runtime, turn, speaking.result())


def _answer(
    runtime: Runtime,
    turn: Turn,
    agent: AnyAgent,
    ask: Callable[[TurnContext], TurnOutcome],
    context: TurnContext,
) -> TurnOutcome:
    """Return the agent's answer, corrected as the session demands."""
    spec, planned = turn.facts.spec, turn.planned
    started = time.monotonic()
    try:
        outcome = ask_for_output(turn, context, ask) if planned.output else ask(context)
    finally:
        runtime.agents.times.record(turn.agent, time.monotonic() - started)
    if spec.protocol is not None and not planned.output:
        outcome = correct_outcome(context, outcome, ask)
    if context.memory is not None and may_correct(agent, context, outcome):
        outcome = correct_learned(context, outcome, ask)
    return read_output(spec.output, planned, outcome)


def _ask(
    runtime: Runtime,
    turn: Turn,
    agent: AnyAgent,
    run: Callable[[AnyAgent, TurnContext, TurnServices | None], TurnOutcome],
    context: TurnContext,
) -> TurnOutcome:
    """Return one answer of the agent."""
    return read_directives(context, run(agent, context, open_services(runtime, turn, agent)))


def open_services(
    runtime: Runtime, turn: Turn, agent: AnyAgent, *, streams: bool = True
) -> TurnServices | None:
    """Return the services of the agent; None: it uses none, or it only streams and has no listener."""
    factory, participant = runtime.agents.services, turn.planned.participant
    may_stream = streams and not runtime.agents.registry.checks_answers(turn.agent)
    if _uses_services(agent):
        return factory.open_services(
            turn.session_id,
            turn.grant,
            participant,
            turn.journal,
            turn.recorder,
            rate_of=partial(runtime.agents.registry.rate_limit, turn.binding),
            streams=may_stream,
        )
    if not (getattr(agent, "streams", False) and may_stream):
        return None
    listener = factory.open_listener(turn.session_id, turn.grant, participant)
    return None if listener is None else TurnServices(listener=listener)


def ask_for_output(
    turn: Turn, context: TurnContext, ask: Callable[[TurnContext], TurnOutcome]
) -> TurnOutcome:
    """Return the agent's answer; if its output is invalid, the answer to the only second request.

    Both requests are paid for. There is no second request if the budget of the turn does not allow it.

    Raises:
        AgentError: The agent failed.
        StateError: The journal of the turn cannot be read.
    """
    rule, planned = turn.facts.spec.output, turn.planned
    stored = turn.refused_answer()
    first = ask(context) if stored is None else stored
    faults = find_output_faults(rule, planned, first)
    before = NO_USAGE  # that of an earlier attempt is an account of its own
    if stored is None:
        if not faults or not has_budget_to_ask_again(context, first):
            return first
        turn.store_refused_answer(first)
        before = first.usage
    log.info(
        "turn %s of %s: asking again, %s",
        context.turn_number,
        context.session_id,
        describe_faults(faults),
    )
    again = ask(ask_for_correction(context, first, faults))
    usage = before + again.usage
    return (again if again.messages or again.question else first).model_copy(update={"usage": usage})


def store_attachments(runtime: Runtime, turn: Turn, outcome: TurnOutcome) -> TurnOutcome:
    """Store the attachments of an answer, and return the answer with references only.

    Nothing is stored before all of them are checked. What a worker that lost its turn has stored is unused.

    Raises:
        BadOutcome: An attachment breaks a rule.
        RedisUnavailable: Redis did not answer until the deadline of the turn.
    """
    if not any(draft.attachments for draft in outcome.messages):
        return outcome
    store = AttachmentStore(runtime.store.client)
    reader = TurnAttachments(runtime.sessions.history, turn.facts)
    session_id, until = turn.session_id, turn.write_deadline
    for index, draft in enumerate(outcome.messages):
        _check(draft, f"messages[{index}]", runtime.limits.max_attachment_bytes)
    for attachment in dict.fromkeys(
        attachment for draft in outcome.messages for attachment in draft.attachments
    ):
        data = _data_to_store(attachment, session_id, store, reader)
        if data is None:
            continue
        add = partial(store.add_data, session_id, attachment.sha256, data)
        if retry_during_outage(add, until=until, what=f"an attachment of {session_id}") == "full":
            raise BadOutcome(f"attachments: {FULL}")
    messages = tuple(
        draft.model_copy(
            update={"attachments": tuple(attachment.reference() for attachment in draft.attachments)}
        )
        for draft in outcome.messages
    )
    return outcome.model_copy(update={"messages": messages})


def _data_to_store(
    attachment: Attachment, session_id: str, store: AttachmentStore, reader: TurnAttachments
) -> bytes | None:
    """Return the data of an attachment; None: the session has them. Raises BadOutcome for a made-up reference."""
    if attachment.data is None and (size := store.size(session_id, attachment.sha256)):
        if size != attachment.size:  # limits for prompts rely on it
            raise BadOutcome(f"attachments: {attachment.name} must have its size of {size} bytes")
        return None
    try:
        with reading_with(reader):
            return attachment.load()
    except AttachmentUnavailable as error:
        raise BadOutcome(f"attachments: {error}") from None


def _check(draft: DraftMessage, where: str, max_bytes: int) -> None:
    try:
        check_attachments(draft.attachments, max_bytes=max_bytes)
        for attachment in draft.attachments:  # an object may have been made without validation
            Attachment.model_validate(dict(attachment))
    except InvalidInput as error:
        raise BadOutcome(str(error.within(where))) from None
    except ValidationError as error:
        raise BadOutcome(str(invalid_input(error, f"{where}.attachments"))) from None

"""One attempt of a turn: its context, the requests to its agent, and the guards around them."""

from __future__ import annotations

import logging
import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from pydantic import ValidationError

from ..agents.agent import AnyAgent, TurnServices
from ..alignment.turn_format import correct_outcome
from ..models.attachments.attachment import Attachment
from ..models.attachments.given import check_attachments
from ..models.attachments.limits import FULL
from ..models.attachments.reading import reading_with
from ..models.errors import (
    AgentFailed,
    AttachmentUnavailable,
    BadOutcome,
    InvalidInput,
    UnknownAgent,
    invalid_input,
)
from ..models.sessions.limits import has_budget_to_ask_again
from ..models.sessions.options import AgentBinding
from ..models.turns.directives import read_directives
from ..models.turns.turn import DraftMessage, TurnContext, TurnOutcome, Usage
from ..state.sessions.attachments import AttachmentStore
from .guards import GuardStop, TurnGuards
from .runtime.history import MAX_EARLIER, TurnAttachments
from .runtime.leases import RenewedLease
from .runtime.runtime import Boundary, Runtime
from .turns.active_turn import ActiveTurn, retry_during_outage, write_deadline
from .turns.results import ask_for_correction, describe_faults, find_output_faults, read_output
from .views.turn_context import item_results, turn_context
from .waiting.parking import TurnToPark


def ask_agent(
    runtime: Runtime, active_turn: ActiveTurn, timeout_s: float
) -> tuple[TurnToPark, TurnOutcome, GuardStop | None]:
    """Return the turn with the answer of its agent, or with the stop by a guard.

    Raises:
        AgentError: The agent is unknown here, or failed.
        LeaseLost: Another worker has the turn.
        StateError: The live state in Redis cannot be read or changed.
    """
    with runtime.leases.keep_renewed(active_turn.session_id, active_turn.grant) as lease:
        return _ask_with_lease(runtime, active_turn, lease, timeout_s)


def _ask_with_lease(
    runtime: Runtime, active_turn: ActiveTurn, lease: RenewedLease, timeout_s: float
) -> tuple[TurnToPark, TurnOutcome, GuardStop | None]:
    binding = active_turn.facts.spec.agents[active_turn.planned.participant].with_agent(
        active_turn.grant.substitute
    )
    try:
        agent = runtime.registry.get_agent(binding)
    except InvalidInput as error:  # the session was checked against another registry
        # Another worker may know the agent.
        raise AgentFailed(str(error), retryable=isinstance(error, UnknownAgent)) from error
    context = _context(runtime, active_turn, binding, timeout_s)
    attempt = _Attempt(runtime, active_turn, lease, binding, agent, timeout_s)
    parked = TurnToPark(active_turn, context, binding)
    guards = TurnGuards(runtime, active_turn, binding, context, attempt.run, attempt.uses_services)
    try:
        outcome = guards.guard(partial(attempt.answer, attempt.recorded_ask()))
    except GuardStop as stop:
        return parked, TurnOutcome(), stop
    # The reported usage includes answers that were corrected.
    if attempt.uses_services and active_turn.own_usage != Usage():
        outcome = outcome.model_copy(update={"usage": active_turn.own_usage})
    return parked, outcome, None


def _context(
    runtime: Runtime, active_turn: ActiveTurn, binding: AgentBinding, timeout_s: float
) -> TurnContext:
    window = runtime.registry.window(binding)
    context = turn_context(
        active_turn.facts,
        active_turn.state,
        active_turn.grant,
        active_turn.planned,
        window=window,
        earlier=runtime.history.before(active_turn.facts, window - len(active_turn.grant.messages)),
        timeout_s=timeout_s,
        memory=None if active_turn.recalled_memory is None else active_turn.recalled_memory.view,
    )
    history = active_turn.facts.spec.history
    is_fork = history is not None and history.before_turn is not None
    results = item_results(
        runtime.store,
        active_turn.session_id,
        active_turn.planned,
        earlier=partial(runtime.history.before, active_turn.facts, MAX_EARLIER) if is_fork else tuple,
    )
    if results:
        context = context.model_copy(update={"item_results": results})
    waiting = active_turn.waiting
    return context if waiting is None else context.model_copy(update={"answers": waiting.answers})


@dataclass(frozen=True, slots=True)
class _Attempt:
    """The requests of one attempt to its agent."""

    runtime: Runtime
    active_turn: ActiveTurn
    lease: RenewedLease
    binding: AgentBinding
    agent: AnyAgent
    timeout_s: float

    @property
    def uses_services(self) -> bool:
        """Return whether the agent uses turn services."""
        return hasattr(self.agent, "speak_with_services")

    def run(
        self, agent: AnyAgent, context: TurnContext, turn_services: TurnServices | None = None
    ) -> TurnOutcome:
        """Run an agent with the deadline and the lease of the turn."""
        runtime, turn = self.runtime, self.active_turn
        speaking = runtime.runner.start(
            agent,
            context,
            timeout_s=self.timeout_s - (time.monotonic() - turn.since),
            turn_services=turn_services,
            attachments=TurnAttachments(runtime.history, turn.facts),
        )
        with self.lease.cancel_when_lost(speaking.cancel):
            runtime.fault_hook(Boundary.SPEAKING, turn.session_id, turn.grant.number)
            return store_attachments(runtime, turn, speaking.result())

    def answer(self, ask: Callable[[TurnContext], TurnOutcome], context: TurnContext) -> TurnOutcome:
        """Return the agent's answer, corrected as the session demands."""
        spec, planned = self.active_turn.facts.spec, self.active_turn.planned
        asked = time.monotonic()
        try:
            outcome = ask_for_output(self.active_turn, context, ask) if planned.output else ask(context)
        finally:
            self.runtime.agent_times.record(self.binding.agent, time.monotonic() - asked)
        if spec.protocol is not None and not planned.output:
            outcome = correct_outcome(context, outcome, ask)
        return read_output(spec.output, planned, outcome)

    def recorded_ask(self) -> Callable[[TurnContext], TurnOutcome]:
        """Return the request to the agent, which is recorded if the session records its calls."""
        recorder = self.active_turn.services.recorder
        return self._ask if recorder is None else recorder.wrap(self.binding, self._ask)

    def _ask(self, context: TurnContext) -> TurnOutcome:
        services = self._services() if self.uses_services else self._live_output()
        return read_directives(context, self.run(self.agent, context, services))

    def _services(self) -> TurnServices:
        rate_of = partial(self.runtime.registry.rate_limit, self.binding)
        return self.active_turn.services.open_services(rate_of, streams=self._may_stream)

    def _live_output(self) -> TurnServices | None:
        """Return the services of an agent that only streams; None: it does not, or nobody follows."""
        if not (getattr(self.agent, "streams", False) and self._may_stream):
            return None
        listener = self.active_turn.services.open_listener()
        return None if listener is None else TurnServices(listener=listener)

    @property
    def _may_stream(self) -> bool:
        return not self.runtime.registry.checks_answers(self.binding.agent)


log = logging.getLogger(__name__)


def ask_for_output(
    active_turn: ActiveTurn, context: TurnContext, ask: Callable[[TurnContext], TurnOutcome]
) -> TurnOutcome:
    """Return the agent's answer; if its output is invalid, the answer to the only second request.

    Both requests are paid for. There is no second request if the budget of the turn does not allow it.

    Raises:
        AgentError: The agent failed.
        StateError: The journal of the turn cannot be read.
    """
    rule, planned = active_turn.facts.spec.output, active_turn.planned
    stored = active_turn.refused_answer()
    first = ask(context) if stored is None else stored
    faults = find_output_faults(rule, planned, first)
    before = Usage()  # that of an earlier attempt is an account of its own
    if stored is None:
        if not faults or not has_budget_to_ask_again(context, first):
            return first
        active_turn.store_refused_answer(first)
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


def store_attachments(runtime: Runtime, active_turn: ActiveTurn, outcome: TurnOutcome) -> TurnOutcome:
    """Store the attachments of an answer, and return the answer with references only.

    Nothing is stored before all of them are checked. What a worker that lost its turn has stored is unused.

    Raises:
        BadOutcome: An attachment breaks a rule.
        RedisUnavailable: Redis did not answer until the deadline of the turn.
    """
    if not any(draft.attachments for draft in outcome.messages):
        return outcome
    store = AttachmentStore(runtime.store.client)
    reader = TurnAttachments(runtime.history, active_turn.facts)
    session_id, until = active_turn.session_id, write_deadline(runtime, active_turn)
    for index, draft in enumerate(outcome.messages):
        _check(draft, f"messages[{index}]", runtime.limits.max_attachment_bytes)
    for attachment in dict.fromkeys(it for draft in outcome.messages for it in draft.attachments):
        data = _data_to_store(attachment, session_id, store, reader)
        if data is None:
            continue
        add = partial(store.add_data, session_id, attachment.sha256, data)
        if retry_during_outage(add, until=until, what=f"an attachment of {session_id}") == "full":
            raise BadOutcome(f"attachments: {FULL}")
    messages = tuple(
        draft.model_copy(update={"attachments": tuple(it.reference() for it in draft.attachments)})
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
        for it in draft.attachments:  # an object may have been made without validation
            Attachment.model_validate(dict(it))
    except InvalidInput as error:
        raise BadOutcome(str(error.within(where))) from None
    except ValidationError as error:
        raise BadOutcome(str(invalid_input(error, f"{where}.attachments"))) from None

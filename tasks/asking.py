"""One attempt of a turn: its context, the requests to its agent, and the guards around them."""

from __future__ import annotations

import time
from collections.abc import Callable
from dataclasses import dataclass
from functools import partial

from ..agents.agent import AnyAgent, TurnServices
from ..alignment.turn_format import correct_outcome
from ..models.directives import read_directives
from ..models.errors import AgentFailed, InvalidInput, UnknownAgent
from ..models.sessions.options import AgentBinding
from ..models.turns.turn import TurnContext, TurnOutcome, Usage
from .runtime.history import MAX_EARLIER
from .runtime.leases import RenewedLease
from .runtime.runtime import Boundary, Runtime
from .turns.active_turn import ActiveTurn
from .turns.attachments import TurnAttachments, store_attachments
from .turns.guards import GuardStop, TurnGuards
from .turns.typed_output import ask_for_output
from .views.item_results import item_results
from .views.outputs import read_output
from .views.session_views import turn_context
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

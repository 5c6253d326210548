"""A turn that must give the output of the session: it is asked again once, then its failure policy decides.

The first invalid answer is stored in the turn's journal before the agent is asked again. A worker that takes over
the turn of a dead worker asks for the correction only.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ...models.sessions.limits import has_budget_to_ask_again
from ...models.turns.turn import TurnContext, TurnOutcome, Usage
from ..runtime.runtime import Runtime
from ..views.outputs import ask_for_correction, describe_faults, find_output_faults
from .active_turn import ActiveTurn
from .ending import apply_failure_policy
from .results import TurnEnd

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


def refuse_output(
    runtime: Runtime, active_turn: ActiveTurn, outcome: TurnOutcome, faults: tuple[str, ...]
) -> TurnEnd:
    """Apply the failure policy to a turn without a valid output; its text stays readable."""
    line = describe_faults(faults)
    log.warning("turn %s of session %s failed: %s", active_turn.grant.number, active_turn.session_id, line)
    return apply_failure_policy(runtime, active_turn, line, said=outcome)

"""One correction of what an agent learned: a value that breaks a rule goes back to the agent once.

In a session without memory, this costs one comparison per turn.
"""

from __future__ import annotations

import logging
from collections.abc import Callable, Iterable

from ...agents.agent import AnyAgent
from ...models.errors import AgentError
from ...models.memory.checking import check_learned, memory_note, merge_learned
from ...models.memory.learned import has_remarks
from ...models.protocol.collab import ParticipantKind
from ...models.sessions.limits import has_budget_to_ask_again
from ...models.turns.turn import Correction, TurnContext, TurnOutcome

log = logging.getLogger(__name__)

#: Maximum characters of an answer repeated to its agent.
_MAX_SHOWN = 20_000


def may_correct(agent: AnyAgent, context: TurnContext, outcome: TurnOutcome) -> bool:
    """Return whether an agent can correct what it learned: a model, or a program that writes the lines of a model."""
    if outcome.learned is None or context.me.kind is ParticipantKind.HUMAN or hasattr(agent, "speak_now"):
        return False
    lines = (line for draft in outcome.messages for line in draft.content.splitlines())
    return hasattr(agent, "speak_with_services") or has_remarks(lines)


def correct_learned(
    context: TurnContext, outcome: TurnOutcome, ask: Callable[[TurnContext], TurnOutcome]
) -> TurnOutcome:
    """Return the answer; if it states wrong values, the second answer with what was right in the first one.

    Both requests are paid for. A failed second request changes nothing: the first answer is used.
    """
    checked = check_learned(outcome.learned, context.memory)
    if not checked.faults or outcome.question or not has_budget_to_ask_again(context, outcome):
        return outcome
    faults = "; ".join(checked.faults)
    log.info(
        "turn %s of %s: asking again for parameters: %s", context.turn_number, context.session_id, faults
    )
    try:
        again = ask(_ask_again(context, outcome, checked.faults))
    except AgentError as error:
        log.info(
            "turn %s of %s: correcting parameters failed, keeping the answer: %s",
            context.turn_number,
            context.session_id,
            error,
        )
        return outcome
    usage = outcome.usage + again.usage
    if not (again.messages or again.question):
        return outcome.model_copy(update={"usage": usage})
    learned = merge_learned(checked.learned, again.learned)
    return again.model_copy(update={"learned": learned, "usage": usage})


def _ask_again(context: TurnContext, outcome: TurnOutcome, faults: tuple[str, ...]) -> TurnContext:
    """Return the context in which the agent is asked again, with what was wrong and the first answer."""
    answer = "\n\n".join(draft.content for draft in outcome.messages)[:_MAX_SHOWN]
    correction = memory_correction(faults, answer)
    return context.asked_again(correction, memory_note(faults), f"Your answer was:\n\n{answer}")


def memory_correction(faults: Iterable[str], answer: str = "") -> Correction:
    """Return what was wrong in an answer, for a model that is asked again."""
    lines = "\n".join(faults)
    return Correction(
        fault=f"these lines are wrong:\n{lines}\nA line that is wrong again is left out.", answer=answer
    )

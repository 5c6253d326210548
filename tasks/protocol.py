"""What a session's protocol adds to its turns: what agents are told, what their words mean, and a second chance.

A session without a protocol pays one comparison a turn for all of this.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..models.alignment.reading import explained, faults, read_signs
from ..models.alignment.signs import Signs
from ..models.dialogue import specification_markdown
from ..models.errors import AgentError
from ..models.options import Protocol
from ..models.turn import TurnContext, TurnOutcome

log = logging.getLogger(__name__)

#: Characters of a faulty answer that are shown to whoever wrote it.
_MOST_SHOWN = 20_000
_SCORES = """\

Whoever judges the session gives each expert four scores, in a table with the columns of the scoreboard above.
"""


def briefed(protocol: Protocol | None, instruction: str) -> str:
    """The instruction of a turn, with the format that its answer is to have."""
    if protocol is None:
        return instruction
    return "\n\n".join(filter(None, (instruction, specification_markdown() + _SCORES)))


def signs_of(protocol: Protocol | None, outcome: TurnOutcome) -> Signs | None:
    """What a turn marked; None in a session without a protocol."""
    if protocol is None:
        return None
    scores = outcome.decision.scores if outcome.decision else {}
    return read_signs([draft.content for draft in outcome.messages], scores=scores)


def mended(
    context: TurnContext, outcome: TurnOutcome, ask: Callable[[TurnContext], TurnOutcome]
) -> TurnOutcome:
    """The outcome, asked for once more if it breaks the format; then it is taken as it is.

    Both askings are paid for. One that fails changes nothing: the first answer is there.
    """
    texts = [draft.content for draft in outcome.messages]
    found = faults(texts) if outcome.question is None else ()
    if not found or not _affords(context, outcome):
        return outcome
    written = "\n\n".join(texts)[:_MOST_SHOWN]
    instruction = f"{context.instruction}\n\n{explained(found)}\n\nYour answer was:\n\n{written}"
    try:
        again = ask(context.model_copy(update={"instruction": instruction}))
    except AgentError as error:
        log.info("turn %s of %s was not mended: %s", context.turn_number, context.session_id, error)
        return outcome
    usage = outcome.usage + again.usage
    return (again if again.messages else outcome).model_copy(update={"usage": usage})


def _affords(context: TurnContext, outcome: TurnOutcome) -> bool:
    """Whether as much again as the first answer cost is left."""
    left = context.remaining
    tokens = left.tokens is None or 2 * outcome.usage.tokens <= left.tokens
    cost = left.cost_micros is None or 2 * outcome.usage.cost_micros <= left.cost_micros
    return tokens and cost

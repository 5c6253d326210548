"""Effects of a session's protocol on its turns: instructions, marks of the answer, and one correction.

In a session without a protocol, this costs one comparison per turn, and the parser of alignment documents is not
imported.
"""

from __future__ import annotations

import logging
from collections.abc import Callable

from ..models.alignment.marks import TurnMarks
from ..models.errors import AgentError
from ..models.sessions.limits import has_budget_to_ask_again
from ..models.sessions.options import Protocol
from ..models.turns.turn import Correction, TurnContext, TurnOutcome

log = logging.getLogger(__name__)

#: Maximum characters of a faulty answer repeated to its agent.
_MAX_SHOWN = 20_000
_SCORES = """\

The judge of the session gives each expert four scores, in a table with the columns of the scoreboard above.
"""


def add_format_instruction(protocol: Protocol | None, instruction: str) -> str:
    """Return the instruction of a turn, with the required format of its answer."""
    if protocol is None:
        return instruction
    from .document import specification_markdown

    return "\n\n".join(filter(None, (instruction, specification_markdown() + _SCORES)))


def read_marks(protocol: Protocol | None, outcome: TurnOutcome) -> TurnMarks | None:
    """Return the marks of a turn; None in a session without a protocol."""
    if protocol is None:
        return None
    from .turn_marks import read_turn_marks

    scores = outcome.decision.scores if outcome.decision else {}
    return read_turn_marks([draft.content for draft in outcome.messages], scores=scores)


def correct_outcome(
    context: TurnContext, outcome: TurnOutcome, ask: Callable[[TurnContext], TurnOutcome]
) -> TurnOutcome:
    """Return the outcome; if it breaks the format, ask once more and accept the second answer as it is.

    Both requests are paid for. A failed second request changes nothing: the first answer is used.
    """
    from .turn_marks import check_turn_form, format_corrections

    texts = [draft.content for draft in outcome.messages]
    findings = check_turn_form(texts) if outcome.question is None else ()
    if not findings or not has_budget_to_ask_again(context, outcome):
        return outcome
    written = "\n\n".join(texts)[:_MAX_SHOWN]
    faults = format_corrections(findings)
    correction = Correction(fault=f"its form is wrong:\n{faults}", answer=written)
    try:
        again = ask(context.asked_again(correction, faults, f"Your answer was:\n\n{written}"))
    except AgentError as error:
        log.info(
            "turn %s of %s: correcting the answer's format failed, keeping the answer: %s",
            context.turn_number,
            context.session_id,
            error,
        )
        return outcome
    usage = outcome.usage + again.usage
    return (again if again.messages else outcome).model_copy(update={"usage": usage})

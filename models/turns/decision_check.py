"""Check of an orchestrator's decision: the participants it names, and its errors. Pure.

It runs twice: in the agent, whose model can correct its answer at once, and in the planner, which does not
rely on the agent's check.

Source: Collab module, section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence

from ..protocol.collab import Participant, find_participants
from ..text.redact import excerpt
from .turn import Decision

#: Maximum number of faults reported for one decision.
_MAX_FAULTS = 3


_NO_DECISION = "it named no speaker and did not say that the work is done: answer with a line such as `NEXT: name` or `DONE: reason`"


def check_decision(
    decision: Decision | None, roster: Sequence[Participant], orchestrator: str | None
) -> tuple[Decision, str]:
    """Return the decision in participant ids, each once, and what is wrong with it (empty: nothing)."""
    if decision is None:
        return Decision(), _NO_DECISION
    speakers: dict[str, None] = {}
    faults = []
    for name in decision.next:
        ids = find_participants(name, roster)
        if len(ids) != 1:
            said = repr(excerpt(name))
            faults.append(
                f"{said} is ambiguous: {excerpt(', '.join(ids))}" if ids else f"{said} is not a participant"
            )
        elif ids[0] == orchestrator:
            faults.append("it named the orchestrator itself")
        else:
            speakers[ids[0]] = None
    instructions: dict[str, str] = {}
    for name, text in decision.instructions.items():
        instructions |= dict.fromkeys(find_participants(name, roster), text)
    choice = decision.model_copy(update={"next": tuple(speakers), "instructions": instructions})
    return choice, "; ".join(faults[:_MAX_FAULTS]) or ("" if speakers else "it named no speaker")

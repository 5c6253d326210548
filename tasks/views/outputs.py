"""Effects of a session's required output on its turns: data read from texts, faults, and one correction. Pure.

In a session without a required output, this costs one comparison per turn.
"""

from __future__ import annotations

from ...models.outputs import RequiredOutput
from ...models.sessions.plan import PlannedTurn
from ...models.turns.turn import TurnContext, TurnOutcome

#: Maximum characters of a refused answer repeated to its agent, and of the faults in an error.
_MOST_SHOWN = 20_000
_MOST_FAULTS = 400


def read_output(rule: RequiredOutput | None, planned: PlannedTurn, outcome: TurnOutcome) -> TurnOutcome:
    """Return the outcome with the data that its text contains, if the data is a valid output.

    In a turn that must give the output, invalid data is kept, too.
    """
    if rule is None or outcome.question or not _may_give(rule, planned):
        return outcome
    read, faults = rule.read(outcome)
    return outcome if faults and not planned.output else read


def find_output_faults(
    rule: RequiredOutput | None, planned: PlannedTurn, outcome: TurnOutcome
) -> tuple[str, ...]:
    """Return what is wrong with the output of a turn that must give it; empty: nothing, or it need not."""
    if rule is None or not planned.output or outcome.question:
        return ()
    return rule.read(outcome)[1]


def has_valid_output(rule: RequiredOutput | None, planned: PlannedTurn, outcome: TurnOutcome) -> bool:
    """Return whether the data of a turn is valid as the output of the session."""
    if rule is None or outcome.output is None or not _may_give(rule, planned):
        return False
    return not rule.find_faults(outcome.output)


def _may_give(rule: RequiredOutput, planned: PlannedTurn) -> bool:
    """Return whether a turn may give the output; a closing turn may replace that of a participant who has left."""
    return planned.output or rule.may_come_from(planned.participant)


def ask_for_correction(context: TurnContext, outcome: TurnOutcome, faults: tuple[str, ...]) -> TurnContext:
    """Return the context in which the agent is asked for the output again, with the faults of its answer."""
    said = "\n\n".join(draft.content for draft in outcome.messages)[:_MOST_SHOWN]
    listed = "\n".join(f"- {fault}" for fault in faults)
    parts = [
        context.instruction,
        f"Your answer is not valid under the required JSON schema:\n{listed}",
        f"Answer again, with the whole result. Your answer was:\n\n{said or 'PASS'}",
    ]
    return context.model_copy(update={"instruction": "\n\n".join(filter(None, parts))})


def describe_faults(faults: tuple[str, ...]) -> str:
    """Return the faults of an output in one line, for an error."""
    return f"must be valid under the JSON schema of the session's output: {'; '.join(faults)}"[:_MOST_FAULTS]

"""Which notices of a parked question are due, and to whom. Pure."""

from __future__ import annotations

from collections.abc import Iterator
from dataclasses import dataclass

from ...tasks.waiting.parked_turn import ParkedTurn
from ...tasks.waiting.replies import reminders_ms

QUESTION, ESCALATION = "question", "escalation"


@dataclass(frozen=True, slots=True)
class DueStage:
    """The newest stage that is due for a person; earlier ones are not sent any more."""

    person: str
    #: `question`, `escalation`, `reminder-1`, `reminder-2`, ...
    stage: str


def due_stages(parked: ParkedTurn) -> Iterator[DueStage]:
    """Yield the notices that are due now: people who were asked later get no reminder."""
    waiting = parked.waiting
    since_ms = parked.state.now_ms - parked.parking.parked_ms
    reminders = sum(after_ms <= since_ms for after_ms in reminders_ms(waiting))
    for name in waiting.asked:
        if name == waiting.asked[0] and not waiting.escalated:
            yield DueStage(name, f"reminder-{reminders}" if reminders else QUESTION)
        elif name == waiting.asked[0]:  # after its deadline the question may have gone to another person
            yield DueStage(name, QUESTION)
        else:
            yield DueStage(name, ESCALATION)


def next_stage_ms(parked: ParkedTurn) -> int | None:
    """Return when the next reminder is due, in milliseconds since the epoch; None: there is none."""
    times = (parked.parking.parked_ms + after_ms for after_ms in reminders_ms(parked.waiting))
    return min((at_ms for at_ms in times if at_ms > parked.state.now_ms), default=None)

"""Summary of the session for the orchestrator, of bounded length also in long sessions."""

from __future__ import annotations

from pydantic import Field

from ...models.protocol.collab import Participant
from ...models.sessions.plan import SessionView
from ...models.text.redact import excerpt
from ...models.turns.turn import Decision, Frozen

#: Maximum number of decisions, hand-offs, people and characters of a name shown; an instruction may have 10,000 characters.
LAST_DECISIONS = 8
LAST_HAND_OFFS = 8
SHOWN_PEOPLE = 30
SHOWN_NAME = 60


_NEW_PLAN = (
    "There has been no progress for a while. Make a new plan: what is known, what went wrong, what to try instead. "
    "Then choose another speaker, or give other instructions. If it cannot be done, say that the work is done, and why."
)


class DecisionLog(Frozen):
    """Record of the decisions, stored in the planner's state."""

    #: One line per decision, oldest first.
    decisions: tuple[str, ...] = ()
    #: Participant id -> number of the last turn.
    last_turns: dict[str, int] = Field(default_factory=dict)
    #: Number of decisions without progress in a row.
    stalls: int = 0
    #: New plans requested since the last progress. After each request the stalls are counted from zero.
    replans: int = 0
    #: Number of invalid choices in a row.
    invalid: int = 0
    #: Why the last choice was invalid.
    fault: str = ""
    #: One line per hand-off since the last decision, oldest first.
    hand_offs: tuple[str, ...] = ()

    def add_turns(self, view: SessionView) -> DecisionLog:
        """Return the ledger with the turns that have just closed."""
        closed = {result.participant: result.number for result in view.results}
        handed = (
            f"{excerpt(result.participant, SHOWN_NAME)} hands off to {excerpt(result.hand_off, SHOWN_NAME)}"
            for result in view.results
            if result.hand_off
        )
        hand_offs = (*self.hand_offs, *handed)[-LAST_HAND_OFFS:]
        return self.model_copy(update={"last_turns": {**self.last_turns, **closed}, "hand_offs": hand_offs})

    def add_decision(self, choice: Decision, *, round_number: int, note: str = "") -> DecisionLog:
        """Return the ledger with one more decision."""
        instructions = [choice.instruction, *(f"{who}: {text}" for who, text in choice.instructions.items())]
        order = " side by side" if choice.side_by_side else ""
        told = excerpt("; ".join(filter(None, instructions)))
        line = f"round {round_number}: {excerpt(', '.join(choice.next))}{order}{note}" + (
            f" ({told})" if told else ""
        )
        return self.model_copy(update={"decisions": (*self.decisions, line)[-LAST_DECISIONS:]})

    def request_new_plan(self) -> DecisionLog:
        """Return the ledger after a request for a new plan."""
        return self.model_copy(update={"stalls": 0, "replans": self.replans + 1})

    def longest_waiting(self, workers: list[str]) -> str:
        """Return the worker (in roster order) without a turn, or else the one whose last turn is longest ago."""
        return min(workers, key=lambda name: self.last_turns.get(name, 0))

    def build_instruction(self, view: SessionView) -> str:
        """Return the instruction of the orchestrator's next turn."""
        options, workers = view.options, [p for p in view.roster if p.participant_id != view.orchestrator]
        lines = [f"Round {view.totals.rounds + 1}: decide who speaks next, or that the work is done."]
        lines += ["You may choose:", *(f"- {self._shown(p)}" for p in workers[:SHOWN_PEOPLE])]
        if len(workers) > SHOWN_PEOPLE:
            lines.append(f"- and {len(workers) - SHOWN_PEOPLE} more")
        if self.decisions:
            lines += ["Decided so far:", *(f"- {line}" for line in self.decisions)]
        if self.hand_offs:
            lines += ["Hand-offs since the last decision:", *(f"- {line}" for line in self.hand_offs)]
        if self.stalls:
            lines.append(f"Decisions without progress in a row: {self.stalls} of {options.max_stalls}.")
        elif self.replans:
            lines.append(_NEW_PLAN)
        if self.fault:
            tries = f"{self.invalid} of {options.max_invalid}"
            lines.append(f"Your last answer was not a valid choice ({tries}): {self.fault}. Choose again.")
        return "\n".join(lines)

    def _shown(self, participant: Participant) -> str:
        name, turn = participant.participant_id, self.last_turns.get(participant.participant_id)
        others = dict.fromkeys(
            it for it in (participant.role_id, participant.display_name) if it and it != name
        )
        called = f" ({excerpt(', '.join(others), SHOWN_NAME)})" if others else ""
        spoke = f"last spoke in turn {turn}" if turn else "has not spoken"
        return f"{excerpt(name, SHOWN_NAME)}{called}: {spoke}"

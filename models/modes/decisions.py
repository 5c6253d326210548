"""Decisions of an orchestrator: their check, and the log of them. Pure.

The check runs twice: in the agent, whose model can correct its answer at once, and in the planner, which does not
rely on the agent's check. The length of the log is bounded, even in long sessions.

Source: Collab module, section 3.1.
"""

from __future__ import annotations

from collections.abc import Sequence
from itertools import accumulate

from pydantic import Field

from ..protocol.collab import Participant, find_participants
from ..sessions.plan import SessionView
from ..text.redact import excerpt
from ..turns.decision_ledger import (
    DecisionLedger,
    LedgerDecision,
    LedgerHandOff,
    LedgerParticipant,
    LedgerTurn,
)
from ..turns.frozen import Frozen
from ..turns.turn import Decision, TurnResult

#: Maximum number of faults reported for one decision.
_MAX_FAULTS = 3


def check_decision(
    decision: Decision | None,
    roster: Sequence[Participant],
    orchestrator: str | None,
    *,
    structured: bool = False,
) -> tuple[Decision, str]:
    """Return the decision in participant ids, each once, and the note about what is wrong with it (empty: nothing).

    Args:
        decision: The decision; None: the answer has none.
        roster: All participants.
        orchestrator: Participant id of who decides.
        structured: Whether the note names the fields of a form instead of directives.
    """
    others = [p.participant_id for p in roster if p.participant_id != orchestrator]
    names = ", ".join(excerpt(name, SHOWN_NAME) for name in others[:SHOWN_PEOPLE])
    how = f"Give in next one or more of {names}" if structured else f"Answer with NEXT: and one of {names}"
    finish = "set satisfied and write the answer" if structured else "write DONE: and the answer"
    if decision is None:
        return Decision(), f"Your answer names no speaker and no end. {how}, or {finish}."
    if decision.fault:
        return decision, decision.fault
    speakers: dict[str, None] = {}
    faults: dict[str, None] = {}
    names_itself = False
    for name in decision.next:
        ids = find_participants(name, roster)
        if len(ids) > 1:
            faults[f"{excerpt(name)!r} is ambiguous: {excerpt(', '.join(ids))}."] = None
        elif not ids:
            faults[f"{excerpt(name)!r} is not a participant."] = None
        elif ids[0] == orchestrator:
            names_itself = True
        else:
            speakers[ids[0]] = None
    instructions: dict[str, str] = {}
    for name, text in decision.instructions.items():
        instructions |= dict.fromkeys(find_participants(name, roster), text)
    choice = decision.model_copy(update={"next": tuple(speakers), "instructions": instructions})
    if faults:
        return choice, " ".join([*list(faults)[:_MAX_FAULTS], f"{how}."])
    if names_itself:
        return choice, f"You cannot name yourself. Give the turn to one of {names}, or {finish}."
    return choice, "" if speakers else f"Your answer names no speaker. {how}, or {finish}."


#: Maximum characters of the fault in an instruction.
_MAX_FAULT = 500
#: Maximum numbers of decisions, hand-offs, people, and characters of a name in an instruction, whose own
#: limit is 10,000 characters.
LAST_DECISIONS = 8
LAST_HAND_OFFS = 8
LAST_TURNS = 8
SHOWN_PEOPLE = 30
SHOWN_NAME = 60
#: Maximum number of characters of one instruction in a stored decision.
ASKED = 120
#: Maximum number of characters of the names in one stored decision. A name has up to 500.
KEPT_NAMES = 4_000


_NEW_PLAN = (
    "There has been no progress for a while. Make a new plan: what is known, what went wrong, what to try instead. "
    "Then choose another speaker, or give other instructions. If it cannot be done, say that the work is done, and why."
)


class DecisionLog(Frozen):
    """Record of the decisions, stored in the planner's state. Lines of text are those of earlier versions."""

    #: The newest decisions, oldest first.
    decisions: tuple[LedgerDecision | str, ...] = ()
    #: Participant id -> number of the last turn.
    last_turns: dict[str, int] = Field(default_factory=dict)
    #: The newest closed turns, oldest first.
    turns: tuple[LedgerTurn, ...] = ()
    #: Number of decisions without progress in a row.
    stalls: int = 0
    #: Number of new plans requested since the last progress. Each request resets the stalls.
    replans: int = 0
    #: Number of invalid choices in a row.
    invalid: int = 0
    #: Why the last choice was invalid.
    fault: str = ""
    #: Hand-offs since the last decision, oldest first.
    hand_offs: tuple[LedgerHandOff | str, ...] = ()

    def add_turns(self, view: SessionView) -> DecisionLog:
        """Return the log with the turns that have just closed."""
        last = {result.participant: result.number for result in view.results}
        handed = (
            LedgerHandOff(by=result.participant, to=result.hand_off)
            for result in view.results
            if result.hand_off
        )
        changes = {
            "last_turns": {**self.last_turns, **last},
            "turns": (*self.turns, *map(_ledger_turn, view.results))[-LAST_TURNS:],
            "hand_offs": (*self.hand_offs, *handed)[-LAST_HAND_OFFS:],
        }
        return self.model_copy(update=changes)

    def add_decision(self, choice: Decision, *, round_number: int, note: str = "") -> DecisionLog:
        """Return the log with one more decision."""
        instructions = [choice.instruction, *(f"{who}: {text}" for who, text in choice.instructions.items())]
        made = LedgerDecision(
            round=round_number,
            next=_first_names(choice.next),
            side_by_side=choice.side_by_side,
            instruction="; ".join(excerpt(text, ASKED) for text in instructions[:SHOWN_PEOPLE] if text),
            note=note,
        )
        return self.model_copy(update={"decisions": (*self.decisions, made)[-LAST_DECISIONS:]})

    def request_new_plan(self) -> DecisionLog:
        """Return the log after a request for a new plan."""
        return self.model_copy(update={"stalls": 0, "replans": self.replans + 1})

    def longest_waiting(self, workers: list[str]) -> str:
        """Return the first worker (in roster order) without a turn, or the one with the oldest last turn."""
        return min(workers, key=lambda name: self.last_turns.get(name, 0))

    def ledger(self, view: SessionView) -> DecisionLedger:
        """Return the ledger for the orchestrator's next turn."""
        workers = (p for p in view.roster if p.participant_id != view.orchestrator)
        return DecisionLedger(
            round=view.totals.rounds + 1,
            participants=tuple(
                LedgerParticipant(
                    participant_id=p.participant_id,
                    role_id=p.role_id,
                    display_name=p.display_name,
                    last_turn=self.last_turns.get(p.participant_id),
                )
                for p in workers
            ),
            decisions=tuple(decision for decision in self.decisions if not isinstance(decision, str)),
            turns=self.turns,
            hand_offs=tuple(hand_off for hand_off in self.hand_offs if not isinstance(hand_off, str)),
            stalls=self.stalls,
            max_stalls=view.options.max_stalls,
            new_plan=not self.stalls and bool(self.replans),
            invalid=self.invalid,
            max_invalid=view.options.max_invalid,
            fault=self.fault,
        )

    def decision_lines(self) -> list[str]:
        """Return one line per decision, oldest first."""
        return [_decision_line(decision) for decision in self.decisions]

    def hand_off_lines(self) -> list[str]:
        """Return one line per hand-off since the last decision, oldest first."""
        return [_hand_off_line(hand_off) for hand_off in self.hand_offs]

    def build_instruction(self, view: SessionView) -> str:
        """Return the instruction of the orchestrator's next turn: the ledger as text."""
        ledger = self.ledger(view)
        lines = [f"Round {ledger.round}: decide who speaks next, or that the work is done."]
        lines += ["You may choose:", *(f"- {_shown(p)}" for p in ledger.participants[:SHOWN_PEOPLE])]
        if len(ledger.participants) > SHOWN_PEOPLE:
            lines.append(f"- and {len(ledger.participants) - SHOWN_PEOPLE} more")
        if self.decisions:
            lines += ["Decided so far:", *(f"- {line}" for line in self.decision_lines())]
        if self.hand_offs:
            lines += [
                "Hand-offs since the last decision:",
                *(f"- {line}" for line in self.hand_off_lines()),
            ]
        if ledger.stalls:
            lines.append(f"Decisions without progress in a row: {ledger.stalls} of {ledger.max_stalls}.")
        elif ledger.new_plan:
            lines.append(_NEW_PLAN)
        if ledger.fault:
            tries = f"{ledger.invalid} of {ledger.max_invalid}"
            lines.append(
                f"Your last decision could not be used ({tries}): {excerpt(ledger.fault, _MAX_FAULT)}"
            )
        return "\n".join(lines)


def _first_names(names: Sequence[str]) -> tuple[str, ...]:
    """Return the first names, within the limits of number and of characters."""
    lengths = accumulate(map(len, names[:SHOWN_PEOPLE]))
    return tuple(name for name, length in zip(names, lengths, strict=False) if length <= KEPT_NAMES)


def _ledger_turn(result: TurnResult) -> LedgerTurn:
    return LedgerTurn(
        number=result.number,
        participant=result.participant,
        outcome=result.kind.value,
        error=excerpt(result.error or ""),
        hand_off=result.hand_off,
    )


def _decision_line(made: LedgerDecision | str) -> str:
    if isinstance(made, str):
        return made
    order = " side by side" if made.side_by_side else ""
    wording = f" ({excerpt(made.instruction)})" if made.instruction else ""
    return f"round {made.round}: {excerpt(', '.join(made.next))}{order}{made.note}{wording}"


def _hand_off_line(made: LedgerHandOff | str) -> str:
    if isinstance(made, str):
        return made
    return f"{excerpt(made.by, SHOWN_NAME)} hands off to {excerpt(made.to, SHOWN_NAME)}"


def _shown(participant: LedgerParticipant) -> str:
    name, turn = participant.participant_id, participant.last_turn
    others = dict.fromkeys(
        label for label in (participant.role_id, participant.display_name) if label and label != name
    )
    called = f" ({excerpt(', '.join(others), SHOWN_NAME)})" if others else ""
    spoke = f"last spoke in turn {turn}" if turn else "has not spoken"
    return f"{excerpt(name, SHOWN_NAME)}{called}: {spoke}"

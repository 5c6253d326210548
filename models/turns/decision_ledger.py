"""Ledger of an orchestrated session as data: what the orchestrator needs for its next decision."""

from __future__ import annotations

from .frozen import Frozen


class LedgerParticipant(Frozen):
    """A participant that the orchestrator may choose."""

    participant_id: str
    role_id: str | None = None
    display_name: str | None = None
    #: Number of its last turn; None: it has had none.
    last_turn: int | None = None


class LedgerTurn(Frozen):
    """A closed turn."""

    number: int
    participant: str
    #: `message`, `passed`, `skipped` or `failed`.
    outcome: str
    #: Why it failed or was skipped, cut to a line; empty: it did not.
    error: str = ""
    #: Participant to whom it handed off.
    hand_off: str | None = None


class LedgerDecision(Frozen):
    """A decision of the orchestrator."""

    #: Number of its round, from 1.
    round: int
    next: tuple[str, ...]
    side_by_side: bool = False
    #: Its instructions, each cut to a line: that for all of them, and `name: instruction` for one, joined with `; `.
    instruction: str = ""
    #: Why Symposia has chosen the participant instead of the orchestrator; empty: it has not.
    note: str = ""

    def asked_of(self, participant_id: str) -> str:
        """Return the instruction that reached a participant; empty: none."""
        if participant_id not in self.next:
            return ""
        starts = {name: self._start_of(name) for name in self.next}
        places = sorted(start for start in starts.values() if start >= 0)
        start = starts[participant_id]
        if start < 0:
            return self.instruction[: places[0]].removesuffix("; ") if places else self.instruction
        end = next((place for place in places if place > start), len(self.instruction))
        return self.instruction[start + len(participant_id) + 2 : end].removesuffix("; ")

    def _start_of(self, name: str) -> int:
        """Return the place of the instruction of one participant; -1: it has none of its own."""
        text = f"{name}: "
        if self.instruction.startswith(text):
            return 0
        at = self.instruction.find(f"; {text}")
        return at + 2 if at >= 0 else -1


class LedgerHandOff(Frozen):
    """A hand-off of a participant, for the orchestrator to decide about."""

    by: str
    to: str


class DecisionLedger(Frozen):
    """What the orchestrator needs for its next decision."""

    #: Number of the round that the decision begins, from 1.
    round: int
    #: Rounds that may still end under the stop conditions, this one included; None: any number.
    rounds_left: int | None = None
    #: The participants that may be chosen, in roster order.
    participants: tuple[LedgerParticipant, ...] = ()
    #: The newest decisions, oldest first.
    decisions: tuple[LedgerDecision, ...] = ()
    #: The newest closed turns, oldest first.
    turns: tuple[LedgerTurn, ...] = ()
    #: Hand-offs since the last decision, oldest first.
    hand_offs: tuple[LedgerHandOff, ...] = ()
    #: Decisions without progress in a row, and how many are allowed before a new plan is asked for.
    stalls: int = 0
    max_stalls: int = 0
    #: True: a new plan is asked for.
    new_plan: bool = False
    #: Invalid choices in a row, how many are allowed, and why the last one was invalid.
    invalid: int = 0
    max_invalid: int = 0
    fault: str = ""

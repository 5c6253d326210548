"""The ledger of an alignment session: tensions, perspectives, and results of rounds.

It is part of the stored state of the stop conditions, so it has the lifetime of the session, changes when
a step is planned, and receives every turn once, in order. A round is over when every expert
has had a turn in it.
"""

from __future__ import annotations

from collections.abc import Sequence

from pydantic import Field

from .marker_refs import MarkerRef, read_refs
from .marks import LedgerValue, Scores, TurnMark, TurnMarks
from .vocabulary import MarkerType, TensionState

#: Maximum number of entries of each kind; further ones are not recorded.
MAX_ENTRIES = 250
#: Maximum number of kept changes of one tension: the newest ones.
MAX_CHANGES = 12
MAX_ROUNDS = 500
_CLOSED_STATES = frozenset({TensionState.RESOLVED, TensionState.DEFERRED})


class Change(LedgerValue):
    """A change of a tension's state."""

    state: TensionState
    by: str
    round: int


class TensionEntry(LedgerValue):
    """A tension under its global id, with its history; the last change is its current state."""

    id: str
    label: str
    changes: tuple[Change, ...]

    @property
    def state(self) -> TensionState:
        """The current state."""
        return self.changes[-1].state

    def changed(self, state: TensionState, by: str, number: int) -> TensionEntry:
        """Return this tension in another state."""
        change = Change(state=state, by=by, round=number)
        return self.model_copy(update={"changes": (*self.changes, change)[-MAX_CHANGES:]})


class PerspectiveEntry(LedgerValue):
    """A perspective under its global id."""

    id: str
    label: str
    by: str
    round: int


class RoundEntry(LedgerValue):
    """Result of a round. Velocity: its new perspectives plus the tensions still open."""

    round: int
    #: Number of the turn that ended it.
    last_turn: int
    new_perspectives: int
    open_tensions: int
    #: The sum of the judge's scores so far.
    score: int = 0

    @property
    def velocity(self) -> int:
        """Number of new perspectives and open tensions; 0: nothing changes any more."""
        return self.new_perspectives + self.open_tensions


class Ledger(LedgerValue):
    """The markers so far."""

    tensions: tuple[TensionEntry, ...] = ()
    perspectives: tuple[PerspectiveEntry, ...] = ()
    #: `participant T01` -> global id of the participant's own id; `participant R2-P01` if the id meant
    #: something else in another round.
    local: dict[str, str] = Field(default_factory=dict)
    rounds: tuple[RoundEntry, ...] = ()
    scores: dict[str, Scores] = Field(default_factory=dict)
    #: Experts who had a turn in this round, and those of them who have nothing more to discuss.
    spoke: tuple[str, ...] = ()
    agreed: tuple[str, ...] = ()
    new_perspectives: int = 0
    #: True: the last completed round was one of convergence.
    converged: bool = False

    @property
    def round(self) -> int:
        """Number of the current round, from 0."""
        return self.rounds[-1].round + 1 if self.rounds else 0

    @property
    def open_tensions(self) -> tuple[TensionEntry, ...]:
        """Tensions that are neither resolved nor deferred."""
        return tuple(tension for tension in self.tensions if tension.state not in _CLOSED_STATES)

    def after_turn(self, turn: int, participant: str, signs: TurnMarks, *, experts: Sequence[str]) -> Ledger:
        """Return the ledger after one more turn. The judge is not an expert: it may resolve tensions, but not agree."""
        ledger = self.model_copy(update={"scores": {**self.scores, **signs.scores}, "converged": False})
        for sign in signs.said:
            ledger = ledger.with_mark(sign, participant)
        if participant not in experts:
            return ledger.model_copy(update={"converged": self.converged})
        agreed = [name for name in ledger.agreed if name != participant] + [participant] * signs.converges
        spoke = tuple(dict.fromkeys((*ledger.spoke, participant)))
        ledger = ledger.model_copy(update={"spoke": spoke, "agreed": tuple(agreed)})
        return ledger.with_round_ended(turn, experts) if {*experts} <= {*spoke} else ledger

    def global_id(self, ref: MarkerRef, participant: str) -> str | None:
        """Return the global id for an id that a participant used.

        Tried in this order: the participant's own id, the named expert's, the only one that exists, a global
        one.
        """
        if ref.round is not None:
            in_round = self.local.get(_key(ref.agent or participant, f"R{ref.round}-{ref.id}"))
            if in_round is not None:
                return in_round
        if ref.agent is not None:
            return self.local.get(_key(ref.agent, ref.id))
        own = self.local.get(_key(participant, ref.id))
        if own is not None:
            return own
        others = {entry_id for key, entry_id in self.local.items() if key.endswith(f" {ref.id}")}
        if len(others) == 1:
            return others.pop()
        known_ids = {
            *(tension.id for tension in self.tensions),
            *(perspective.id for perspective in self.perspectives),
        }
        return ref.id if ref.id in known_ids else None

    def with_mark(self, sign: TurnMark, participant: str) -> Ledger:
        """Return the ledger after one marker."""
        kind = MarkerType(sign.kind)
        refs = [ref for text in sign.refs for ref in read_refs(text, strict=True).found]
        ledger = self
        for ref in refs:
            if kind is MarkerType.PERSPECTIVE:
                ledger = ledger.with_perspective(ref, sign.label, participant)
            elif kind is MarkerType.TENSION:
                ledger = ledger.with_tension(ref, sign.label, participant)
            elif (name := ledger.global_id(ref, participant)) is not None:
                ledger = ledger.with_tension_state(name, _state_after(kind, sign.label), participant)
        return ledger

    def with_perspective(self, ref: MarkerRef, label: str, by: str) -> Ledger:
        """Return the ledger with a perspective.

        Experts number from 1 in each round, so an old id with another label is a new perspective.
        """
        key, number = _key(by, ref.id), self.round
        used = next(
            (perspective for perspective in self.perspectives if perspective.id == self.local.get(key)), None
        )
        again = used is not None and (used.round == number or used.label.casefold() == label.casefold())
        if again or len(self.perspectives) >= MAX_ENTRIES:
            return self
        entry = PerspectiveEntry(id=f"P{len(self.perspectives) + 1:02}", label=label, by=by, round=number)
        ids = {key: entry.id}
        if used is not None:
            ids |= {
                _key(by, f"R{perspective.round}-{ref.id}"): perspective.id for perspective in (used, entry)
            }
        return self.model_copy(
            update={
                "perspectives": (*self.perspectives, entry),
                "local": {**self.local, **ids},
                "new_perspectives": self.new_perspectives + 1,
            }
        )

    def with_tension(self, ref: MarkerRef, label: str, by: str) -> Ledger:
        """Return the ledger with a tension raised; a resolved or deferred one is open again."""
        key = _key(ref.agent or by, ref.id)
        # The same id may belong to a perspective; then it is not yet the id of a tension.
        existing = next((tension for tension in self.tensions if tension.id == self.local.get(key)), None)
        if existing is not None:
            return (
                self.with_tension_state(existing.id, TensionState.REOPENED, by)
                if existing.state in _CLOSED_STATES
                else self
            )
        if len(self.tensions) >= MAX_ENTRIES:
            return self
        raised = Change(state=TensionState.OPEN, by=by, round=self.round)
        entry = TensionEntry(id=f"T{len(self.tensions) + 1:02}", label=label, changes=(raised,))
        return self.model_copy(
            update={"tensions": (*self.tensions, entry), "local": {**self.local, key: entry.id}}
        )

    def with_tension_state(self, name: str, state: TensionState, by: str) -> Ledger:
        """Return the ledger with a tension in another state; a resolved or deferred one is not addressed again."""

        def moved(entry: TensionEntry) -> TensionEntry:
            is_it = entry.id == name and entry.state is not state
            back = state is TensionState.ADDRESSED and entry.state in _CLOSED_STATES
            return entry.changed(state, by, self.round) if is_it and not back else entry

        return self.model_copy(update={"tensions": tuple(map(moved, self.tensions))})

    def with_round_ended(self, turn: int, experts: Sequence[str]) -> Ledger:
        """Return the ledger after the end of the round: the round is recorded, and the next begins."""
        entry = RoundEntry(
            round=self.round,
            last_turn=turn,
            new_perspectives=self.new_perspectives,
            open_tensions=len(self.open_tensions),
            score=sum(scores.total for scores in self.scores.values()),
        )
        return self.model_copy(
            update={
                "rounds": (*self.rounds, entry)[-MAX_ROUNDS:],
                "spoke": (),
                "agreed": (),
                "new_perspectives": 0,
                "converged": entry.velocity == 0 and {*experts} <= {*self.agreed},
            }
        )


def _key(participant: str, local: str) -> str:
    return f"{participant.casefold()} {local}"


def _state_after(kind: MarkerType, label: str) -> TensionState:
    """Return the state of a tension after a marker; `[REFINEMENT T09: Deferred to ...]` defers it."""
    if label.casefold().startswith(("deferred", "defer ", "future work")):
        return TensionState.DEFERRED
    return TensionState.RESOLVED if kind is MarkerType.RESOLVED else TensionState.ADDRESSED

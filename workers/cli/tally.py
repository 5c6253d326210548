"""How far a session is, counted from its events. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from ...models.collab import Collab, CollabMode
from ...models.events import MapEvent, MAPEventType
from ...models.plan import Totals
from ...models.spec import SessionSpec
from ...models.stop import AllOf, AnyOf, MaxRounds, StopCondition
from ...tasks.task_tree import Closed

#: Limits beyond this are there for safety; no session is meant to be so long.
_NO_LENGTH = 5_000


@dataclass(slots=True)
class Tally:
    """Turns that have closed, tokens that were spent, and who speaks now."""

    turns: int = 0
    tokens: int = 0
    #: Participant ids by the token under which they speak.
    speaking: dict[str, str] = field(default_factory=dict)

    def take(self, event: MapEvent) -> None:
        """Counts one event."""
        payload = event.payload or {}
        if event.event_type is MAPEventType.TURN_DISPATCHED:
            self.speaking[str(payload.get("token_id"))] = str(payload.get("participant_id"))
        elif event.event_type is MAPEventType.TURN_COMPLETED:
            end = Closed.of(event)
            self.speaking.pop(end.token_id, None)
            self.turns += end.is_final
            self.tokens += end.tokens


def expected_turns(collab: Collab, spec: SessionSpec) -> int | None:
    """How many turns the session has when nothing ends it early; None: nobody knows."""
    length = _length(spec.stop, _turns_a_round(collab))
    return length if length is not None and length <= _NO_LENGTH else None


def _turns_a_round(collab: Collab) -> int | None:
    """Turns of a round, in the modes in which all rounds are alike."""
    if collab.mode in (CollabMode.ROUND_ROBIN, CollabMode.PAIR, CollabMode.BROADCAST):
        return len(collab.participants)
    return None


def _length(stop: StopCondition, a_round: int | None) -> int | None:
    if isinstance(stop, AnyOf | AllOf):
        lengths = [_length(part, a_round) for part in stop.conditions]
        known = [length for length in lengths if length is not None]
        if isinstance(stop, AnyOf):
            return min(known, default=None)
        return max(known) if len(known) == len(lengths) else None
    if isinstance(stop, MaxRounds):
        return None if a_round is None else stop.rounds * a_round
    return stop.remaining(Totals()).turns

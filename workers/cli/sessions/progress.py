"""Progress of a session, counted from its events. Pure."""

from __future__ import annotations

from dataclasses import dataclass, field

from ....models.protocol.collab import Collab
from ....models.protocol.events import MapEvent, MAPEventType
from ....models.sessions.plan import Totals
from ....models.sessions.spec import SessionSpec
from ....models.sessions.stop_conditions import AllOf, AnyOf, MaxRounds, StopCondition
from ....tasks.planners import mode_of
from ....tasks.sessions.task_tree import GrantEnd

#: Higher limits are only for safety, and are not the expected length.
_NO_LENGTH = 5_000


@dataclass(slots=True)
class ProgressCounter:
    """Closed turns, used tokens, and the participants of open turns."""

    turns: int = 0
    tokens: int = 0
    #: Participant ids by the token under which they speak.
    speaking: dict[str, str] = field(default_factory=dict)

    def count_event(self, event: MapEvent) -> None:
        """Count one event."""
        payload = event.payload or {}
        if event.event_type is MAPEventType.TURN_DISPATCHED:
            self.speaking[str(payload.get("token_id"))] = str(payload.get("participant_id"))
        elif event.event_type is MAPEventType.TURN_COMPLETED:
            end = GrantEnd.from_event(event)
            self.speaking.pop(end.token_id, None)
            self.turns += end.is_final
            self.tokens += end.tokens


def expected_turns(collab: Collab, spec: SessionSpec) -> int | None:
    """Return the number of turns if nothing ends the session early; None if unknown."""
    length = _length(spec.stop, _turns_a_round(collab))
    return length if length is not None and length <= _NO_LENGTH else None


def _turns_a_round(collab: Collab) -> int | None:
    """Return the turns per round in modes with equal rounds, else None."""
    return len(collab.participants) if mode_of(collab.mode).one_turn_each else None


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

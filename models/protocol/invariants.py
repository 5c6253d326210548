"""The rules of the multi-agent profile: allowed changes of status, and named rules with their checks.

`INVARIANTS` holds the four of the Collab module (section 5.1), the nine of
map-invariants.yaml, and `map_pair_exactly_two`, which the mode's definition implies. They are checked at the
opening and at the end of a session. A check yields violations; the caller decides whether they are errors.

Source of the lifecycles: Collab and Dialog modules, section 4, and the protocol's state diagrams. `suspended`
and `paused` cannot change to `completed`, and `suspended` cannot change to `cancelled`.
"""

from __future__ import annotations

from collections.abc import Callable, Iterator, Mapping
from dataclasses import dataclass
from datetime import datetime
from enum import StrEnum

from ..errors import IllegalTransition, InvariantViolation, Locked
from ..text.ids import utcnow
from . import invariant_checks as of_collab
from . import invariant_checks as of_trace
from .collab import Collab, CollabStatus


class Scope(StrEnum):
    """Input of a check."""

    #: A Collab.
    COLLAB = "collab"
    #: A sequence of MapEvent.
    TRACE = "trace"
    #: The messages and the MAP events of one session.
    SESSION = "session"


@dataclass(frozen=True, slots=True)
class Invariant:
    """A named rule; `check` takes the input that its scope names."""

    scope: Scope
    check: Callable[..., Iterator[InvariantViolation]]

    @property
    def name(self) -> str:
        """The rule's id, e.g. `map_min_participants`."""
        return self.check.__name__


#: All rules by name.
INVARIANTS: dict[str, Invariant] = {
    invariant.name: invariant
    for invariant in (
        Invariant(Scope.COLLAB, of_collab.map_min_participants),
        Invariant(Scope.COLLAB, of_collab.map_unique_participant_ids),
        Invariant(Scope.COLLAB, of_collab.map_pair_exactly_two),
        Invariant(Scope.COLLAB, of_collab.map_orchestrator_required),
        Invariant(Scope.SESSION, of_trace.map_exclusive_write),
        Invariant(Scope.COLLAB, of_collab.map_session_requires_participants),
        Invariant(Scope.COLLAB, of_collab.map_collab_mode_valid),
        Invariant(Scope.COLLAB, of_collab.map_session_id_is_uuid),
        Invariant(Scope.COLLAB, of_collab.map_participants_have_role_ids),
        Invariant(Scope.TRACE, of_trace.map_turn_completion_matches_dispatch),
        Invariant(Scope.TRACE, of_trace.map_broadcast_has_receivers),
        Invariant(Scope.COLLAB, of_collab.map_role_ids_non_empty),
        Invariant(Scope.COLLAB, of_collab.map_participant_ids_are_non_empty),
        Invariant(Scope.COLLAB, of_collab.map_participant_kind_valid),
    )
}


#: Rules for a collab at the opening of a session. Role ids are not checked: activation fills them.
_AT_OPENING = (
    of_collab.map_min_participants,
    of_collab.map_participant_ids_are_non_empty,
    of_collab.map_unique_participant_ids,
    of_collab.map_participant_kind_valid,
    of_collab.map_role_ids_non_empty,
    of_collab.map_session_id_is_uuid,
    of_collab.map_collab_mode_valid,
    of_collab.map_pair_exactly_two,
)


def check_collab(collab: Collab, *, orchestrator: str | None = None) -> None:
    """Check the rules for the opening of a session.

    Args:
        collab: The session to be opened.
        orchestrator: Participant id of the orchestrator, if the roles do not name one.

    Raises:
        InvariantViolation: The first broken rule.
    """
    for check in _AT_OPENING:
        _raise_first(check(collab))
    _raise_first(of_collab.map_orchestrator_required(collab, orchestrator))


def _raise_first(violations: Iterator[InvariantViolation]) -> None:
    for violation in violations:
        raise violation


#: Status -> the statuses that may follow it; a final status has none.
COLLAB_EDGES: Mapping[CollabStatus, frozenset[CollabStatus]] = {
    CollabStatus.DRAFT: frozenset({CollabStatus.ACTIVE, CollabStatus.CANCELLED}),
    CollabStatus.ACTIVE: frozenset({CollabStatus.SUSPENDED, CollabStatus.COMPLETED, CollabStatus.CANCELLED}),
    CollabStatus.SUSPENDED: frozenset({CollabStatus.ACTIVE}),
    CollabStatus.COMPLETED: frozenset(),
    CollabStatus.CANCELLED: frozenset(),
}


def transition_collab(
    collab: Collab, target: CollabStatus, *, at: datetime | None = None, by: str | None = None
) -> Collab:
    """Return a copy of the collab in status `target`, changed at the time `at` (default: now) by the actor `by`.

    A change to `active` fills every missing `role_id` from the participant id.

    Raises:
        Locked: `governance.locked` refuses every change.
        IllegalTransition: The diagram has no such edge.
    """
    if collab.governance and collab.governance.locked:
        raise Locked("collab", collab.collab_id)
    if target not in COLLAB_EDGES[collab.status]:
        raise IllegalTransition("collab", collab.status, target)
    moment = at or utcnow()
    meta = collab.meta.changed(updated_at=moment, updated_by=by)
    moved = collab.changed(status=target, updated_at=moment, meta=meta)
    return moved.activated() if moved.status is CollabStatus.ACTIVE else moved

"""The named rules that a collab can be checked for by itself, each a small function.

Most of them hold for every Collab that was constructed; they are there for those that were not, and
so that each rule of the protocol can be named and asked for.

Source: Collab module, section 5.1; map-invariants.yaml, scope `collab`.
"""

from __future__ import annotations

from collections import Counter
from collections.abc import Callable, Iterable, Iterator

from ..errors import InvariantViolation
from ..text.ids import is_uuid4
from .collab import Collab, CollabMode, Participant, ParticipantKind, orchestrator_of

Violations = Iterator[InvariantViolation]


def map_min_participants(collab: Collab) -> Violations:
    """Check for at least one participant."""
    if not collab.participants:
        yield _violation("map_min_participants", "participants", (), "must have at least 1 item")


def map_session_requires_participants(collab: Collab) -> Violations:
    """Check for at least one participant, under the name of map-invariants.yaml."""
    if not collab.participants:
        yield _violation("map_session_requires_participants", "participants", (), "must have at least 1 item")


def map_unique_participant_ids(collab: Collab) -> Violations:
    """Return no two participants share an id."""
    for participant_id, count in Counter(p.participant_id for p in collab.participants).items():
        if count > 1:
            rule = "must not contain a participant_id twice"
            yield _violation("map_unique_participant_ids", "participants", participant_id, rule)


def map_orchestrator_required(collab: Collab, orchestrator: str | None = None) -> Violations:
    """Return an orchestrated session has exactly one orchestrator, by its role or by `orchestrator`."""
    if collab.mode != CollabMode.ORCHESTRATED:
        return
    try:
        orchestrator_of(collab, orchestrator)
    except InvariantViolation as violation:
        yield violation


def map_pair_exactly_two(collab: Collab) -> Violations:
    """Return a pair is two."""
    count = len(collab.participants)
    if collab.mode == CollabMode.PAIR and count != 2:
        yield _violation(
            "map_pair_exactly_two", "participants", count, "must have exactly 2 items in mode 'pair'"
        )


def map_collab_mode_valid(collab: Collab) -> Violations:
    """Return the mode is one of the five, or was added to them."""
    known: object = collab.mode
    if not isinstance(known, CollabMode):
        yield _violation("map_collab_mode_valid", "mode", collab.mode, _one_of(CollabMode))


def map_session_id_is_uuid(collab: Collab) -> Violations:
    """Return the session's id is a UUID v4."""
    if not is_uuid4(collab.collab_id):
        yield _violation("map_session_id_is_uuid", "collab_id", collab.collab_id, "must be a UUID v4")


def map_participants_have_role_ids(collab: Collab) -> Violations:
    """Return every participant is bound to a role: true once the collab was activated."""
    name, rule = "map_participants_have_role_ids", "must have a role"
    yield from _each(collab, name, "role_id", rule, lambda p: bool(p.role_id and p.role_id.strip()))


def map_role_ids_non_empty(collab: Collab) -> Violations:
    """Return a role id that is there is not blank."""
    name, rule = "map_role_ids_non_empty", "must not be blank"
    yield from _each(collab, name, "role_id", rule, lambda p: p.role_id is None or bool(p.role_id.strip()))


def map_participant_ids_are_non_empty(collab: Collab) -> Violations:
    """Return no participant id is blank."""
    name, rule = "map_participant_ids_are_non_empty", "must not be blank"
    yield from _each(collab, name, "participant_id", rule, lambda p: bool(p.participant_id.strip()))


def map_participant_kind_valid(collab: Collab) -> Violations:
    """Return every participant is of one of the four kinds."""
    name, rule = "map_participant_kind_valid", _one_of(ParticipantKind)
    yield from _each(collab, name, "kind", rule, lambda p: p.kind in tuple(ParticipantKind))


def _each(
    collab: Collab, name: str, field: str, rule: str, holds: Callable[[Participant], bool]
) -> Violations:
    for index, participant in enumerate(collab.participants):
        if not holds(participant):
            yield _violation(name, f"participants[{index}].{field}", getattr(participant, field), rule)


def _one_of(values: Iterable[str]) -> str:
    return f"must be one of {', '.join(values)}"


def _violation(name: str, field: str, value: object, rule: str) -> InvariantViolation:
    return InvariantViolation(name, field=field, value=value, rule=rule)

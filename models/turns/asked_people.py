"""People without turns of their own: approvers and observers. An agent may ask them; approvers also decide approvals."""

from __future__ import annotations

from collections.abc import Iterable

from ..errors import InvalidInput
from ..protocol.collab import Participant, ParticipantKind

#: Maximum number of approvers and observers of a session.
MAX_ASKED_PEOPLE = 20
#: Maximum characters of a name.
_MAX_NAME = 200


def read_names(field: str, names: object) -> tuple[str, ...]:
    """Return the names of approvers or observers; none for None.

    Raises:
        InvalidInput: It is no list of names, or a name breaks the rules of participant ids.
    """
    if names is None:
        return ()
    if isinstance(names, str) or not isinstance(names, Iterable):
        raise InvalidInput(field, names, "must be a list of names")
    listed_names = tuple(names)
    for index, name in enumerate(listed_names):
        if not isinstance(name, str) or not name.strip() or len(name) > _MAX_NAME:
            raise InvalidInput(f"{field}[{index}]", name, f"must be a name of 1 to {_MAX_NAME} characters")
        try:
            as_person(name)
        except InvalidInput as error:
            raise InvalidInput(f"{field}[{index}]", name, error.rule) from None
    return listed_names


def check_people(approvers: Iterable[str], observers: Iterable[str], roster: Iterable[str]) -> None:
    """Check that approvers and observers are few, all different, and no participants.

    Raises:
        InvalidInput: A rule is broken.
    """
    participants = set(roster)
    named = [("approvers", name) for name in approvers] + [("observers", name) for name in observers]
    if len(named) > MAX_ASKED_PEOPLE:
        rule = f"must have at most {MAX_ASKED_PEOPLE} names, together with observers"
        raise InvalidInput("approvers", len(named), rule)
    seen: set[str] = set()
    for field, name in named:
        if name in participants:
            raise InvalidInput(
                field, name, "must not be a participant: participants of kind human may be asked"
            )
        if name in seen:
            raise InvalidInput(field, name, "must not be named twice among approvers and observers")
        seen.add(name)


def people_of(roster: Iterable[Participant], others: Iterable[str]) -> tuple[Participant, ...]:
    """Return the participants of kind human, then `others`, who have no turns."""
    return (
        *(participant for participant in roster if participant.kind is ParticipantKind.HUMAN),
        *map(as_person, others),
    )


def as_person(name: str) -> Participant:
    """Return an approver or observer in the form of a participant.

    Raises:
        InvalidInput: The name breaks the rules of participant ids.
    """
    return Participant(participant_id=name, kind=ParticipantKind.HUMAN)

"""Lookup of participants by id, role id or display name, in any case."""

from __future__ import annotations

from collections.abc import Sequence

from .collab import Participant


def role_of(participant: Participant) -> str:
    """Return the participant's role id; one without a role is its own role."""
    return participant.role_id or participant.participant_id


def find_participants(name: str, roster: Sequence[Participant]) -> tuple[str, ...]:
    """Return ids of the participants `name` may mean, in roster order; none: unknown, several: ambiguous.

    An exact id wins over everything, then an id in another case, then a role id, then a display
    name: what is found at one of these is not looked for at the next.
    """
    exact, wanted = name.strip(), name.strip().casefold()
    if not wanted:
        return ()
    found = (
        [p for p in roster if p.participant_id == exact]
        or [p for p in roster if p.participant_id.casefold() == wanted]
        or [p for p in roster if (p.role_id or "").casefold() == wanted]
        or [p for p in roster if (p.display_name or "").casefold() == wanted]
    )
    return tuple(p.participant_id for p in found)


def find_participant_or_role(name: str, roster: Sequence[Participant]) -> str | None:
    """Return the participant id or the role id (of one or several) that `name` means, or None."""
    ids, wanted = find_participants(name, roster), name.strip().casefold()
    if not ids or wanted == ids[0].casefold():
        return ids[0] if ids else None
    role = next(p.role_id for p in roster if p.participant_id == ids[0])
    if role is not None and role.casefold() == wanted:
        return role
    return ids[0] if len(ids) == 1 else None

"""What the events of a session say about its roles."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ..models.collab import Collab, Participant, orchestrators_among
from ..models.dialog import Role
from ..models.ids import role_uuid


def role_of(participant: Participant) -> str:
    """The role a participant is bound to, which is its own where none was given."""
    return participant.role_id or participant.participant_id


def role_uuid_of(participant: Participant) -> str:
    """The same as the UUID that event payloads ask for."""
    return role_uuid(role_of(participant))


def broadcaster_role_of(roster: Mapping[str, Participant]) -> str:
    """Return the role that asks the question of a broadcast: the orchestrator's, or `user` without one."""
    found = orchestrators_among(roster.values())
    return role_of(roster[found[0]]) if len(found) == 1 else Role.USER.value


def roles_document(collab: Collab) -> str:
    """What MAPSessionStarted and MAPRolesAssigned say, as JSON."""
    assignments = [
        {
            "participant_id": participant.participant_id,
            "role_id": role_of(participant),
            "role_uuid": role_uuid_of(participant),
            "kind": participant.kind,
        }
        for participant in collab.participants
    ]
    started = {"mode": collab.mode, "title": collab.title, "participant_count": len(assignments)}
    targets = [role_of(participant) for participant in collab.participants]
    return json.dumps(
        {"started": started, "assignments": assignments, "targets": targets}, ensure_ascii=False
    )

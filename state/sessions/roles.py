"""Roles in the events of a session."""

from __future__ import annotations

import json
from collections.abc import Mapping

from ...models.protocol.collab import Collab, Participant, orchestrators_among
from ...models.protocol.dialog import Role
from ...models.text.ids import role_uuid


def role_of(participant: Participant) -> str:
    """Return the role of a participant; a participant without a role has one of its own."""
    return participant.role_id or participant.participant_id


def role_uuid_of(participant: Participant) -> str:
    """Return the role as a UUID, as event payloads require."""
    return role_uuid(role_of(participant))


def broadcaster_role_of(roster: Mapping[str, Participant]) -> str:
    """Return the role that asks the question of a broadcast: the orchestrator's, or `user` without one."""
    found = orchestrators_among(roster.values())
    return role_of(roster[found[0]]) if len(found) == 1 else Role.USER.value


def roles_document(collab: Collab) -> str:
    """Return the roles for MAPSessionStarted and MAPRolesAssigned, as JSON."""
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

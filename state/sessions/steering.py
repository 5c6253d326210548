"""Steering of running sessions in Redis: settings and messages.

Like the verbs of `SessionStore`, these are idempotent: a client may retry a command whose
reply was lost.
"""

from __future__ import annotations

from collections.abc import Mapping
from dataclasses import dataclass
from typing import cast

from pydantic import JsonValue
from pydantic_core import to_json
from redis import Redis

from ...models.errors import SessionNotFound
from ..redis.formats import check_format, session_format
from ..redis.keys import session_key
from ..redis.scripts import ScriptValue, call_on_session
from .records import ScriptAnswer, read_answer, read_number


@dataclass(frozen=True, slots=True)
class SessionDocuments:
    """Settings of a session, as JSON."""

    edition: int
    collab: str
    spec: str
    #: Settings that apply when the next round begins; None: no change is pending.
    next_collab: str | None = None
    next_spec: str | None = None


@dataclass(frozen=True, slots=True)
class SettingsChange:
    """A new edition of a session's settings."""

    #: Documents from which this edition was made.
    base: SessionDocuments
    spec: str
    #: Settings from the next round on; None: unchanged.
    next_collab: str | None
    next_spec: str | None
    #: Type and data of the event.
    event: str
    about: Mapping[str, JsonValue]
    request: str


def read_documents(client: Redis, session_id: str) -> SessionDocuments:
    """Return the current settings of a session.

    Raises:
        SessionNotFound: There is no such session.
        CorruptSession: A stored record is invalid.
        NewerFormat: A newer version of Symposia wrote the session.
    """
    names = ["edition", "collab", "spec", "next_collab", "next_spec", "format"]
    values = cast("list[str | None]", client.hmget(session_key(session_id, "session"), names))
    edition, collab, spec, next_collab, next_spec, version = values
    check_format("session", session_id, version)
    if collab is None or spec is None:
        raise SessionNotFound(session_id)
    return SessionDocuments(
        read_number(edition or "0", session_id=session_id, field="edition"),
        collab,
        spec,
        next_collab,
        next_spec,
    )


def check_session_format(client: Redis, session_id: str) -> None:
    """Check, before a change that needs no other read, that this version can read the session.

    Raises:
        NewerFormat: A newer version of Symposia wrote the session.
    """
    version = cast("str | None", client.hget(session_key(session_id, "session"), "format"))
    check_format("session", session_id, version)


class SteeringStore:
    """The verbs of steering."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def has_steered(self, session_id: str, request: str) -> bool:
        """Return whether a request is among the newest ones that changed the session."""
        steered_by = self._client.hget(session_key(session_id, "session"), "steered_by")
        return request in str(steered_by or "").split()

    def steer(self, session_id: str, change: SettingsChange) -> ScriptAnswer:
        """Write a new edition; return `steered`, `outdated`, `refused` or `missing`."""
        args: dict[str, ScriptValue] = {
            "request": change.request,
            "edition": change.base.edition,
            "spec": change.spec,
            "next_collab": change.next_collab or "",
            "next_spec": change.next_spec or "",
            "event": change.event,
            "about": to_json(change.about),
            "format": session_format(change.spec, change.next_spec or ""),
        }
        return read_answer(session_id, call_on_session(self._client, "sessions/steer", session_id, args))

    def post(
        self, session_id: str, message: str, *, request: str, about: Mapping[str, JsonValue]
    ) -> ScriptAnswer:
        """Add a message, as JSON, to the dialog; return `posted`, `full`, `refused` or `missing`.

        Raises:
            NewerFormat: A newer version of Symposia wrote the session.
        """
        check_session_format(self._client, session_id)
        args: dict[str, ScriptValue] = {"request": request, "message": message, "about": to_json(about)}
        return read_answer(session_id, call_on_session(self._client, "sessions/post", session_id, args))

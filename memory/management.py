"""Management of dialog memories for their users: show, export, forget, share."""

from __future__ import annotations

import json
from collections.abc import Iterable
from typing import Any

from pydantic import ValidationError
from redis import Redis

from ..models.errors import InvalidInput
from ..models.memory.parameters import check_name, user_key
from ..models.memory.services import find_service
from ..models.memory.state import MemoryState, RememberedValue
from ..models.sessions.spec import SessionSpec
from ..models.text.ids import new_id, timestamp_from_ms
from ..state.redis.connect import connect
from ..state.redis.keys import session_key
from ..state.redis.readers import StreamReader
from .merge import Statement, WriteMetadata
from .report import MemoryReport, build_report
from .store import MemoryStore
from .values import MemoryRules, MemorySnapshot, Owner


def export_memory(owner: Owner, look: MemorySnapshot, sessions: Redis) -> dict[str, Any]:
    """Return context and messages as data.

    Raises:
        RedisUnavailable: Redis does not answer.
    """
    state = look.room.value
    return {
        "user_id": owner.user,
        "room_id": owner.room,
        "exported_at": timestamp_from_ms(look.now_ms),
        "context": _context(state),
        "conversations": [
            {"session_id": session_id, "messages": _messages(sessions, session_id)}
            for session_id in state.sessions
            if _belongs_to(sessions, session_id, owner)
        ],
    }


def _context(state: MemoryState) -> dict[str, Any]:
    return {
        "service": state.service,
        "services": {
            service: {
                "parameters": {name: _parameter(remembered) for name, remembered in shelf.parameters.items()},
                "forgotten": sorted(shelf.forgotten),
            }
            for service, shelf in state.service_memories.items()
        },
        "metadata": {
            "last_updated_by": state.last_updated_by,
            "message_count": state.message_count,
            "conversation_id": state.conversation_id,
            "updated_at": timestamp_from_ms(state.timestamp_ms) if state.timestamp_ms else None,
        },
    }


def _parameter(remembered: RememberedValue) -> dict[str, Any]:
    return {
        "value": remembered.value,
        "source": remembered.source.value,
        "confidence": remembered.confidence,
        "session": remembered.session,
        "turn": remembered.turn,
        "set_at": timestamp_from_ms(remembered.at_ms),
    }


def _belongs_to(sessions: Redis, session_id: str, owner: Owner) -> bool:
    """Return whether the session belongs to this user, by its own spec and not by the content of the memory."""
    text = sessions.hget(session_key(session_id, "session"), "spec")
    try:
        memory = SessionSpec.model_validate_json(str(text)).memory if text is not None else None
    except ValidationError:
        return False
    return memory is not None and (memory.user_id, memory.room_id) == (owner.user, owner.room)


def _messages(sessions: Redis, session_id: str) -> list[Any]:
    return [json.loads(text) for _, text in StreamReader(sessions).all(session_id, "dialog")]


_NOBODY = "is required: memory needs a user and a room"


class MemoryManagement:
    """Management of the memories in one Redis.

    Args:
        redis: A URL, or a client that decodes responses.
        rules: Time to live, size cap, and format of the keys.
        sessions: The Redis with the sessions, whose messages are exported; None: the same Redis.
    """

    def __init__(
        self, redis: Redis | str, rules: MemoryRules | None = None, *, sessions: Redis | None = None
    ) -> None:
        client = connect(redis, retries=1) if isinstance(redis, str) else redis
        self.kept = MemoryStore(client, rules or MemoryRules())
        self._sessions = sessions or client

    def show(self, user_id: object, room_id: object) -> MemoryReport:
        """Return the memory, masked, with source, age and confidence.

        Args:
            user_id: The owner of the memory.
            room_id: The room.

        Raises:
            InvalidInput: A bad id.
            RedisUnavailable: Redis does not answer.
        """
        owner = _owner(user_id, room_id)
        look = self.kept.read(owner)
        return build_report(
            look.room.value,
            user_id=owner.user,
            room_id=owner.room,
            now_ms=look.now_ms,
            half_life_ms=self.kept.rules.ttl_ms,
            ttl_ms=self.kept.ttl_left_ms(owner),
        )

    def export(self, user_id: object, room_id: object, *, by: object) -> dict[str, Any]:
        """Return the messages and the whole context, unmasked, for the user they belong to.

        Args:
            user_id: The owner of the memory.
            room_id: The room.
            by: The caller.

        Raises:
            InvalidInput: A bad id, or the caller is another user.
            RedisUnavailable: Redis does not answer.
        """
        owner = _owner(user_id, room_id)
        if user_key(by) != owner.user:
            raise InvalidInput("by", by, "must be the owner of this memory")
        return export_memory(owner, self.kept.read(owner), self._sessions)

    def forget(self, user_id: object, room_id: object, *names: str, service: str | None = None) -> bool:
        """Forget parameters of a service; turns that began earlier cannot store them again.

        Args:
            user_id: The owner of the memory.
            room_id: The room.
            names: The parameters.
            service: The service. None: the current one; a parameter that it does not have is forgotten in every
                service that has it.

        Returns:
            Whether anything was written; False if no service was ever used.

        Raises:
            InvalidInput: A bad id, a bad name or an unknown service.
            RedisUnavailable: Redis does not answer.
        """
        owner = _owner(user_id, room_id)
        look = self.kept.read(owner)
        chosen = None if service is None else [find_service(service).name]
        statements = [
            Statement(of, look.stamp_ms, forget=(check_name(name),), selects=False)
            for name in names
            for of in chosen or _services_of(look.room.value, name)
        ]
        return bool(statements) and self._forget(owner, statements, look)

    def forget_all(self, user_id: object, room_id: object | None = None) -> list[str]:
        """Forget a room, or all rooms and everything they share.

        Args:
            user_id: The owner of the memory.
            room_id: The room. None: all rooms.

        Returns:
            The rooms whose memory was not empty.

        Raises:
            InvalidInput: A bad id.
            RedisUnavailable: Redis does not answer.
        """
        user, had_something = _user(user_id), []
        for room in self.kept.rooms(user) if room_id is None else [_owner(user_id, room_id).room]:
            owner = Owner(user, room)
            look = self.kept.read(owner)
            if not look.room.value.is_blank:
                had_something.append(room)
            # Parameters are forgotten by name first, so that other rooms forget values shared from this room.
            named = [
                Statement(service, look.stamp_ms, forget=tuple(shelf.parameters))
                for service, shelf in look.room.value.service_memories.items()
            ]
            self._forget(owner, [*named, Statement(None, look.stamp_ms, forget_all=True)], look)
        if room_id is None:
            self.kept.client.delete(self.kept.shared_key(user))
        return had_something

    def rooms(self, user_id: object) -> list[str]:
        """Return the rooms that have a memory of a user. Scans all keys.

        Args:
            user_id: The owner of the memory.

        Raises:
            InvalidInput: A bad id.
            RedisUnavailable: Redis does not answer.
        """
        user = _user(user_id)
        return [room for room in self.kept.rooms(user) if not self._state(user, room).is_blank]

    def share(self, user_id: object, names: Iterable[str]) -> None:
        """Share more parameters with a user's other rooms: stored and future values.

        Args:
            user_id: The owner of the memory.
            names: Parameters with their service, such as `travel.from`.

        Raises:
            InvalidInput: The service is unknown, or its parameters cannot be shared (such as payment).
            RedisUnavailable: The call may be repeated.
        """
        user, wanted = _user(user_id), list(names)
        # The consent is written first: the writer of a concurrent value then shares that value.
        self.kept.change_sharing(user, lambda sharing: sharing.with_parameters(wanted))
        rooms = [self._state(user, room) for room in self.kept.rooms(user)]
        self.kept.change_sharing(user, lambda sharing: sharing.with_room_values(rooms))

    def unshare(self, user_id: object, names: Iterable[str] | None = None) -> None:
        """Stop sharing parameters with a user's other rooms at once.

        Args:
            user_id: The owner of the memory.
            names: Parameters with their service, such as `travel.from`. None: all of them.

        Raises:
            InvalidInput: A bad id or name.
            RedisUnavailable: The call may be repeated.
        """
        gone = None if names is None else list(names)
        self.kept.change_sharing(_user(user_id), lambda sharing: sharing.without_parameters(gone))

    def shared(self, user_id: object) -> tuple[str, ...]:
        """Return the parameters shared with a user's other rooms, sorted.

        Args:
            user_id: The owner of the memory.

        Raises:
            InvalidInput: A bad id.
            RedisUnavailable: Redis does not answer.
        """
        return tuple(sorted(self.kept.read(Owner(_user(user_id), "")).sharing.value.allowed))

    def counts(self) -> dict[str, int]:
        """Return the counts of memory events of all processes, by name.

        Raises:
            RedisUnavailable: Redis does not answer.
        """
        return self.kept.counts.all()

    def _state(self, user: str, room: str) -> MemoryState:
        return self.kept.read(Owner(user, room)).room.value

    def _forget(self, owner: Owner, statements: list[Statement], look: MemorySnapshot) -> bool:
        writer = WriteMetadata(look.now_ms, mark=new_mark(), messages=0)
        return self.kept.write(owner, statements, writer, look=look, slides=False) is not look


def new_mark() -> str:
    """Return a unique mark, for a write that is never repeated."""
    return new_id()[:8]


def _services_of(state: MemoryState, name: str) -> list[str]:
    """Return the services that a parameter without a service may belong to; none if no service was used."""
    current = [] if state.service is None else [state.service]
    if name in state.service_memory(state.service).parameters:
        return current
    return [
        service for service, shelf in state.service_memories.items() if name in shelf.parameters
    ] or current


def _user(user_id: object) -> str:
    user = user_key(user_id)
    if user is None:
        raise InvalidInput("user_id", user_id, _NOBODY)
    return user


def _owner(user_id: object, room_id: object) -> Owner:
    owner = Owner.from_ids(_user(user_id), room_id)
    if owner is None:
        raise InvalidInput("room_id", room_id, _NOBODY)
    return owner

"""What people may ask of the dialog memory: to see it, to take it along, to have it forgotten, to share it.

Everything here says so when Redis is away: nobody is told that something is forgotten that is not.

Source: dialog state document, section 10 ("Future Enhancements").
"""

from __future__ import annotations

from collections.abc import Iterable
from typing import Any

from redis import Redis

from ..models.errors import InvalidInput, NotTheOwner
from ..models.ids import new_id
from ..models.memory.merge import Statement, Writer
from ..models.memory.report import MemoryReport, report
from ..models.memory.services import service_named
from ..models.memory.state import MemoryState
from ..models.memory.values import check_name, user_key
from .connect import connect
from .memory_export import exported
from .memory_store import MemoryStore
from .memory_values import Look, MemoryRules, Owner

_NOBODY = "must be given: without a user and a room nothing is remembered"


class MemoryKeeping:
    """The memories in one Redis, for the users they are of.

    Args:
        redis: a URL, or a client that decodes responses.
        rules: time to live, size cap, and how keys are built.
        sessions: where sessions live, for exports with their messages; None: in the same Redis.
    """

    def __init__(
        self, redis: Redis | str, rules: MemoryRules | None = None, *, sessions: Redis | None = None
    ) -> None:
        client = connect(redis, retries=1) if isinstance(redis, str) else redis
        self.kept = MemoryStore(client, rules or MemoryRules())
        self._sessions = sessions or client

    def show(self, user_id: object, room_id: object) -> MemoryReport:
        """What is remembered, masked, with source, age and confidence. Raises RedisUnavailable, InvalidInput."""
        owner = _owner(user_id, room_id)
        look = self.kept.look(owner)
        return report(
            look.room.value,
            user_id=owner.user,
            room_id=owner.room,
            now_ms=look.now_ms,
            half_life_ms=self.kept.rules.ttl_ms,
            ttl_ms=self.kept.ttl_left_ms(owner),
        )

    def export(self, user_id: object, room_id: object, *, by: object) -> dict[str, Any]:
        """The messages and the whole context, unmasked, for the user they belong to.

        Args:
            user_id: whose memory.
            room_id: where.
            by: who asks.

        Raises:
            NotTheOwner: somebody else asks.
            RedisUnavailable, InvalidInput: nothing was exported.
        """
        owner = _owner(user_id, room_id)
        if user_key(by) != owner.user:
            raise NotTheOwner(by)
        return exported(owner, self.kept.look(owner), self._sessions)

    def forget(self, user_id: object, room_id: object, *names: str, service: str | None = None) -> bool:
        """Forgets parameters of a service: turns that began earlier cannot refill them.

        Without `service` each is the current service's, or, where that does not know it, of those that do.
        False when no service was ever spoken of. Raises RedisUnavailable, InvalidInput.
        """
        owner = _owner(user_id, room_id)
        look = self.kept.look(owner)
        chosen = None if service is None else [service_named(service).name]
        statements = [
            Statement(of, look.stamp_ms, forget=(check_name(name),), selects=False)
            for name in names
            for of in chosen or _services_of(look.room.value, name)
        ]
        return bool(statements) and self._forget(owner, statements, look)

    def forget_all(self, user_id: object, room_id: object | None = None) -> list[str]:
        """Forget everything in a room, or in every room and what rooms share; return the rooms that had something.

        Raises RedisUnavailable, InvalidInput.
        """
        user, had_something = _user(user_id), []
        for room in self.kept.rooms(user) if room_id is None else [_owner(user_id, room_id).room]:
            owner = Owner(user, room)
            look = self.kept.look(owner)
            if not look.room.value.is_blank:
                had_something.append(room)
            # By name first, so that other rooms forget what they know from this one.
            named = [
                Statement(service, look.stamp_ms, forget=tuple(shelf.parameters))
                for service, shelf in look.room.value.shelves.items()
            ]
            self._forget(owner, [*named, Statement(None, look.stamp_ms, forget_all=True)], look)
        if room_id is None:
            self.kept.client.delete(self.kept.shared_key(user))
        return had_something

    def rooms(self, user_id: object) -> list[str]:
        """Rooms in which something is remembered of a user: looks through all keys. Raises RedisUnavailable."""
        user = _user(user_id)
        return [room for room in self.kept.rooms(user) if not self._state(user, room).is_blank]

    def share(self, user_id: object, names: Iterable[str]) -> None:
        """Share more parameters (`travel.from`) with a user's other rooms: what is remembered already, and what is said
        from now on.

        Raises:
            InvalidInput: an unknown service, or one such as payment that is never carried.
            RedisUnavailable: nothing was changed, or the same may be shared again.
        """
        user, wanted = _user(user_id), list(names)
        # The consent first: what is said while the rooms are read is shared by its writer.
        self.kept.change_sharing(user, lambda sharing: sharing.adding(wanted))
        rooms = [self._state(user, room) for room in self.kept.rooms(user)]
        self.kept.change_sharing(user, lambda sharing: sharing.knowing(rooms))

    def unshare(self, user_id: object, names: Iterable[str] | None = None) -> None:
        """Stop sharing these parameters with a user's other rooms at once; None: all of them.

        Raises RedisUnavailable, InvalidInput.
        """
        gone = None if names is None else list(names)
        self.kept.change_sharing(_user(user_id), lambda sharing: sharing.without(gone))

    def shared(self, user_id: object) -> tuple[str, ...]:
        """The parameters a user's other rooms may know, sorted. Raises RedisUnavailable."""
        return tuple(sorted(self.kept.look(Owner(_user(user_id), "")).sharing.value.allowed))

    def counts(self) -> dict[str, int]:
        """How often what happened, such as `corrupt`, in all processes. Raises RedisUnavailable."""
        return self.kept.counts.all()

    def _state(self, user: str, room: str) -> MemoryState:
        return self.kept.look(Owner(user, room)).room.value

    def _forget(self, owner: Owner, statements: list[Statement], look: Look) -> bool:
        writer = Writer(look.now_ms, mark=unique_mark(), messages=0)
        return self.kept.write(owner, statements, writer, look=look, slides=False) is not look


def unique_mark() -> str:
    """The mark of a write that is never repeated."""
    return new_id()[:8]


def _services_of(state: MemoryState, name: str) -> list[str]:
    """The services a parameter is meant of that is named alone; none when no service was spoken of."""
    current = [] if state.service is None else [state.service]
    if name in state.shelf(state.service).parameters:
        return current
    return [service for service, shelf in state.shelves.items() if name in shelf.parameters] or current


def _user(user_id: object) -> str:
    user = user_key(user_id)
    if user is None:
        raise InvalidInput("user_id", user_id, _NOBODY)
    return user


def _owner(user_id: object, room_id: object) -> Owner:
    owner = Owner.of(_user(user_id), room_id)
    if owner is None:
        raise InvalidInput("room_id", room_id, _NOBODY)
    return owner

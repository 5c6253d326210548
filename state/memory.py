"""Dialog memory for programs: what a user has said in a room, so that a follow-up need not repeat it.

    memory = DialogMemory("redis://localhost:6379/0")
    memory.store(42, "room_123", {"from": "Nairobi", "to": "London"}, service="travel")
    memory.merge(42, "room_123", {"return_date": "2026-02-20"})
    # {"from": "Nairobi", "to": "London", "return_date": "2026-02-20"}

What a conversation needs (`get`, `recall`, `merge`, `store`) goes on without Redis, as if
nothing were remembered. What a person asks for (`show`, `export`, `forget`, ...) says so
when Redis is away: nobody is told that something is forgotten that is not.

Source: dialog state document, sections 2 and 10.
"""

from __future__ import annotations

import logging
from collections.abc import Iterable, Mapping
from typing import Any

from pydantic import JsonValue
from redis import Redis

from ..models.errors import InvalidInput, NotTheOwner
from ..models.ids import new_id
from ..models.memory.merge import Statement, Writer, applied
from ..models.memory.recall import Asker, MemoryView, recall
from ..models.memory.report import MemoryReport, report
from ..models.memory.saying import Origin, heard
from ..models.memory.services import Service, service_named
from ..models.memory.values import check_name, user_key
from ..models.memory.wire_form import documented
from .connect import connect
from .memory_counts import MemoryEvent
from .memory_export import exported
from .memory_log import log_merging, log_retrieved, log_stored
from .memory_store import AWAY, MemoryStore
from .memory_values import Look, MemoryRules, Owner

log = logging.getLogger("symposia.state.memory")

#: The session of what is said right now, outside of any.
_NOW = "now"
_NOBODY = "must be given: without a user and a room nothing is remembered"


class DialogMemory:
    """The memories in one Redis.

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

    # -- in a conversation -----------------------------------------------------------------------

    def get(self, user_id: object, room_id: object) -> dict[str, JsonValue]:
        """What is remembered: `timestamp`, `service`, `parameters`, `metadata`; `{}` when nothing is, or Redis
        is away. Raises InvalidInput for a bad id.
        """
        look = self._looked(Owner.of(user_id, room_id))
        return documented(look.room.value) if look.room.version else {}

    def recall(
        self,
        user_id: object,
        room_id: object,
        parameters: Mapping[str, object] | None = None,
        *,
        service: str | None = None,
        defaults: Mapping[str, JsonValue] | None = None,
    ) -> MemoryView:
        """The new message's parameters, merged: new, then remembered, then defaults; and what to ask for.

        Nothing is written. `service`: None is the one spoken of last.

        Raises:
            InvalidInput: a bad id, no service, an unknown one, or a value of the wrong type.
        """
        look = self._looked(Owner.of(user_id, room_id))
        state, ttl_ms = look.room.value, self.kept.rules.ttl_ms
        if (name := service or state.service) is None and look.degraded:
            return MemoryView.model_validate({"parameters": dict(parameters or {}), "degraded": True})
        known = _service(name)
        new = heard(known, Origin(look.stamp_ms, session=_NOW), parameters or {}).checked()
        view = recall(
            applied(state, new),
            known,
            Asker(now_ms=look.now_ms, half_life_ms=ttl_ms, session=_NOW),
            defaults=defaults,
            other_rooms=look.sharing.value.shelf(known.name, now_ms=look.now_ms, ttl_ms=ttl_ms),
            degraded=look.degraded,
        )
        said = {name: it.value for name, it in new.parameters.items()}
        log_merging(known.name, cached=state.values(known.name), new=said, merged=view.parameters)
        return view

    def merge(
        self,
        user_id: object,
        room_id: object,
        parameters: Mapping[str, object],
        *,
        service: str | None = None,
        defaults: Mapping[str, JsonValue] | None = None,
    ) -> dict[str, JsonValue]:
        """`recall`, the merged parameters alone."""
        return self.recall(user_id, room_id, parameters, service=service, defaults=defaults).parameters

    def store(
        self,
        user_id: object,
        room_id: object,
        parameters: Mapping[str, object],
        *,
        service: str | None = None,
        updated_by: str = "",
        conversation_id: str = "",
    ) -> bool:
        """Adds parameters to what is remembered of a service, and makes it the one spoken of last.

        Args:
            user_id: whose memory; without one, or without a room, nothing is stored.
            room_id: where.
            parameters: by name; `None`, `""`, `[]` and `{}` change nothing.
            service: None: the one spoken of last.
            updated_by: who says so, for the metadata.
            conversation_id: for the metadata.

        Returns:
            Whether it was stored: False without user or room, with nothing to store, or without Redis.

        Raises:
            InvalidInput: no service, an unknown one, a bad id, or a value of the wrong type: nothing was stored.
        """
        owner = Owner.of(user_id, room_id)
        look = self._looked(owner)
        if (name := service or look.room.value.service) is None and look.degraded:
            return False
        known = _service(name)
        statement = heard(known, Origin(look.stamp_ms), parameters).checked()
        if owner is None or look.degraded or not statement.parameters:
            return False
        writer = Writer(look.now_ms, mark=_mark(), by=updated_by, conversation_id=conversation_id)
        try:
            written = self.kept.write(owner, [statement], writer, look=look)
        except AWAY as error:
            self._degraded("stored", error)
            return False
        if written is look:
            return False
        log_stored(owner, self.kept.rules)
        return True

    # -- for people ------------------------------------------------------------------------------

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
        """Forgets parameters of a service (default: the current one): turns that began earlier cannot refill
        them. False when no service was ever spoken of. Raises RedisUnavailable, InvalidInput.
        """
        owner = _owner(user_id, room_id)
        look = self.kept.look(owner)
        service = service or look.room.value.service
        forget = tuple(check_name(name) for name in names)
        if service is None or not forget:
            return False
        statement = Statement(service_named(service).name, look.stamp_ms, forget=forget, selects=False)
        return self._forget(owner, statement, look)

    def forget_all(self, user_id: object, room_id: object | None = None) -> list[str]:
        """Forgets everything in a room, or in every room and what rooms share. Answers the rooms.

        Raises RedisUnavailable, InvalidInput.
        """
        user = _user(user_id)
        rooms = self.kept.rooms(user) if room_id is None else [_owner(user_id, room_id).room]
        for room in rooms:
            owner = Owner(user, room)
            look = self.kept.look(owner)
            self._forget(owner, Statement(None, look.stamp_ms, forget_all=True), look)
        if room_id is None:
            self.kept.client.delete(self.kept.shared_key(user))
        return rooms

    def rooms(self, user_id: object) -> list[str]:
        """Rooms in which something is remembered of a user: looks through all keys. Raises RedisUnavailable."""
        return self.kept.rooms(_user(user_id))

    def share(self, user_id: object, names: Iterable[str]) -> None:
        """Lets a user's other rooms know these parameters (`travel.from`) from now on, and no others; none
        ends it, and removes what was shared.

        Raises:
            InvalidInput: an unknown service, or one such as payment that is never carried.
            RedisUnavailable: nothing was changed.
        """
        user, wanted = _user(user_id), list(names)
        while True:
            sharing = self.kept.look(Owner(user, "")).sharing
            if self.kept.write_sharing(user, sharing.value.only(wanted), version=sharing.version):
                return

    def shared(self, user_id: object) -> tuple[str, ...]:
        """The parameters a user's other rooms may know, sorted. Raises RedisUnavailable."""
        return tuple(sorted(self.kept.look(Owner(_user(user_id), "")).sharing.value.allowed))

    def counts(self) -> dict[str, int]:
        """How often what happened, such as `corrupt`, in all processes. Raises RedisUnavailable."""
        return self.kept.counts.all()

    # -- inside ----------------------------------------------------------------------------------

    def _looked(self, owner: Owner | None) -> Look:
        """The memory; an empty one without an owner or without Redis."""
        if owner is None:
            return Look(0)
        try:
            look = self.kept.look(owner)
        except AWAY as error:
            self._degraded("read", error)
            return Look(0, degraded=True)
        log_retrieved(owner, look)
        return look

    def _degraded(self, done: str, error: Exception) -> None:
        log.warning("Dialog state could not be %s: %s", done, error)
        self.kept.counts.keep(MemoryEvent.DEGRADED)

    def _forget(self, owner: Owner, statement: Statement, look: Look) -> bool:
        writer = Writer(look.now_ms, mark=_mark(), messages=0)
        return self.kept.write(owner, [statement], writer, look=look, slides=False) is not look


def _service(name: str | None) -> Service:
    if name is None:
        raise InvalidInput("service", None, "must be given: no service has been spoken of yet")
    return service_named(name)


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


def _mark() -> str:
    return new_id()[:8]

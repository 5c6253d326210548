"""Trees of sessions in Redis: registered sub-sessions, and what links a session to its parent.

The session at the top of a tree registers all sub-sessions below it, so one read finds them. Each of them also knows
its parent.
"""

from __future__ import annotations

from collections.abc import Iterable, Mapping
from dataclasses import dataclass
from typing import NamedTuple, cast

from redis import Redis

from ...models.sessions.subsessions import ParentRef
from ..redis.keys import session_key
from ..redis.scripts import ScriptValue, call_on_session

_PREFIX = "child:"


class ParentLink(NamedTuple):
    """The turn that a sub-session answers."""

    session_id: str
    turn: int

    @classmethod
    def parse(cls, text: str | None) -> ParentLink | None:
        """Read the field `parent` of a session hash; None: it is empty."""
        if not text:
            return None
        session_id, _, turn = text.partition("|")
        return cls(session_id, int(turn))


@dataclass(frozen=True, slots=True)
class FamilyLinks:
    """The links of one session."""

    #: The turn of its parent; None: it is no sub-session.
    parent: ParentLink | None
    #: Number of sub-sessions below it, if it has no parent.
    children: int
    #: Request of its newest status change.
    moved_by: str

    @property
    def has_family(self) -> bool:
        """Return whether it may have a parent or children."""
        return bool(self.parent or self.children)


class RegisteredChild(NamedTuple):
    """A sub-session that was registered; it may not be open yet, or have expired."""

    session_id: str
    parent: str
    turn: int
    call: int


class FamilyStore:
    """The trees of sessions in one Redis. The client must decode responses."""

    def __init__(self, client: Redis) -> None:
        self._client = client

    def adopt(self, ref: ParentRef, *, limit: int) -> str:
        """Register a sub-session before it is opened; return `adopted`, `ended`, `full` or `missing`."""
        entry = f"{ref.session_id}|{ref.turn}|{ref.call}"
        args: dict[str, ScriptValue] = {"child": ref.child_id, "entry": entry, "limit": limit}
        word: str = call_on_session(self._client, "sessions/adopt", ref.root, args)[0]
        return word

    def links(self, session_id: str) -> FamilyLinks:
        """Return the links of a session; those of an unknown session are empty."""
        names = ("parent", "children", "moved_by")
        values = cast("list[str | None]", self._client.hmget(session_key(session_id, "session"), list(names)))
        return FamilyLinks(ParentLink.parse(values[0]), int(values[1] or 0), values[2] or "")

    def list_children(self, root: str) -> tuple[RegisteredChild, ...]:
        """Return all sub-sessions below a session without parent, by parent, turn and number."""
        key = session_key(root, "session")
        return read_children(dict(self._client.hscan_iter(key, match=f"{_PREFIX}*", count=1_000)))


def read_children(fields: Mapping[str, str | None]) -> tuple[RegisteredChild, ...]:
    """Return the registered sub-sessions among the fields of a session hash."""
    return tuple(sorted(_children(fields.items()), key=lambda child: (child.parent, child.turn, child.call)))


def _children(fields: Iterable[tuple[str, str | None]]) -> Iterable[RegisteredChild]:
    for name, entry in fields:
        if name.startswith(_PREFIX) and entry is not None:
            parent, turn, call = entry.split("|")
            yield RegisteredChild(name.removeprefix(_PREFIX), parent, int(turn), int(call))

"""Long-term memory: texts that later sessions of a user, a room or a tenant recall. Pure.

A session takes part by its option `recall`. Lines `NOTE: text` of its answers are stored after their turn is written,
and each turn is given the stored texts that fit its task best.
"""

from __future__ import annotations

import re
from collections.abc import Iterable, Mapping, Sequence
from enum import StrEnum
from typing import Annotated, Any, Protocol, Self
from urllib.parse import quote

from pydantic import AfterValidator, BeforeValidator, Field

from ..errors import InvalidInput
from ..protocol.base import ProtocolObject
from ..text.redact import CleanText
from .parameters import room_key, user_key

#: Maximum characters of a text.
MAX_TEXT = 2_000
#: Maximum number of texts that one turn adds.
MAX_NOTES = 5
#: Maximum number of texts that a turn is given, and of their characters together.
MAX_RECALLED = 5
MAX_RECALLED_CHARACTERS = 4_000
#: Maximum characters of a query.
MAX_QUERY = 4_000

_TENANT = re.compile(r"[\w.@:-]{1,100}")
_NO_OWNER = "requires `user_id`"
_NO_ROOM = "requires `room_id`, `conversation`, `task` or `thread_id`, which later sessions name again"


class ScopeKind(StrEnum):
    """Who recalls a text."""

    USER = "user"
    ROOM = "room"
    TENANT = "tenant"


class Scope(ProtocolObject):
    """A user, a room or a tenant. Texts of one scope never reach another.

    Users and rooms belong to the tenant of their sessions: user 42 of one tenant is not user 42 of another.
    """

    kind: ScopeKind
    #: Id of the user, the room or the tenant.
    id: Annotated[str, Field(min_length=1, max_length=200)]
    #: Tenant of the user or room; empty: none.
    tenant: Annotated[str, Field(max_length=100)] = ""

    @classmethod
    def of(cls, kind: ScopeKind | str, id: object, *, tenant: str | None = None) -> Self:  # noqa: A002 - its name
        """Return a scope after a check of its ids.

        Raises:
            InvalidInput: A bad kind, id or tenant.
        """
        if kind not in {*ScopeKind}:
            raise InvalidInput("scope", kind, f"must be one of {', '.join(ScopeKind)}")
        kind = ScopeKind(kind)
        if tenant is not None and (kind is ScopeKind.TENANT or _TENANT.fullmatch(tenant) is None):
            raise InvalidInput("tenant", tenant, "must be the name of a tenant, for a user or a room")
        name = _check_id(kind, id)
        if name is None:
            raise InvalidInput("scope", id, f"must name a {kind}")
        return cls(kind=kind, id=name, tenant=tenant or "")

    @classmethod
    def parse(cls, text: str, *, tenant: str | None = None) -> Self:
        """Return the scope of a text such as `user:42`, `room:lobby` or `tenant:acme`.

        Raises:
            InvalidInput: The text has another form, or a bad id.
        """
        kind, colon, name = text.partition(":")
        if not colon:
            raise InvalidInput("scope", text, "must be user:ID, room:ID or tenant:NAME")
        return cls.of(kind, name, tenant=tenant)

    @property
    def key(self) -> str:
        """Return a text that no other scope has: kind, tenant and id, quoted as in URLs."""
        return ":".join((self.kind.value, quote(self.tenant, safe=""), quote(self.id, safe="")))

    def __str__(self) -> str:
        return f"{self.kind}:{self.id}" + (f" of tenant {self.tenant}" if self.tenant else "")


def _check_id(kind: ScopeKind, name: object) -> str | None:
    match kind:
        case ScopeKind.USER:
            return user_key(name)
        case ScopeKind.ROOM:
            return room_key(name)
        case ScopeKind.TENANT:
            if not isinstance(name, str) or _TENANT.fullmatch(name) is None:
                raise InvalidInput("tenant", name, "must be the name of a tenant")
            return name


class RecallOptions(ProtocolObject):
    """Option `recall` of a session, as stored."""

    by: ScopeKind
    #: Id of the user or the room; empty for a tenant, which is that of the session.
    id: Annotated[str, Field(max_length=200)] = ""

    def scope(self, tenant: str | None) -> Scope:
        """Return the scope of a session with this tenant.

        Raises:
            InvalidInput: The session has no tenant, and `by` is `tenant`.
        """
        if self.by is ScopeKind.TENANT:
            if tenant is None:
                raise InvalidInput("recall", self.by.value, "requires `tenant`")
            return Scope(kind=self.by, id=tenant)
        return Scope(kind=self.by, id=self.id, tenant=tenant or "")


def recall_options(how: Mapping[str, Any], *, default_room: str | None) -> RecallOptions | None:
    """Return the option `recall` of a submission; None: it is not given.

    Raises:
        InvalidInput: It is not a kind of scope, or the submission names no user or room.
    """
    given = how.get("recall")
    if given is None or isinstance(given, RecallOptions):  # the latter: of a session that is continued
        return given
    if not isinstance(given, str) or given not in {*ScopeKind}:
        raise InvalidInput("recall", given, f"must be one of {', '.join(ScopeKind)}, or omitted")
    match ScopeKind(given):
        case ScopeKind.USER:
            user = user_key(how.get("user_id"))
            if user is None:
                raise InvalidInput("recall", given, _NO_OWNER)
            return RecallOptions(by=ScopeKind.USER, id=user)
        case ScopeKind.ROOM:
            room = room_key(how.get("room_id")) or room_key(default_room)
            if room is None:
                raise InvalidInput("recall", given, _NO_ROOM)
            return RecallOptions(by=ScopeKind.ROOM, id=room)
        case ScopeKind.TENANT:
            return RecallOptions(by=ScopeKind.TENANT)


def _single_line(text: str) -> str:
    return " ".join(text.split())


#: Text to remember: one line, shortened to `MAX_TEXT`.
Note = Annotated[
    CleanText,
    BeforeValidator(lambda text: _single_line(text) if isinstance(text, str) else text),
    AfterValidator(lambda text: text[:MAX_TEXT]),
    Field(min_length=1),
]


class Recollection(ProtocolObject):
    """A text that was remembered."""

    text: str
    #: Time at which it was stored, in milliseconds since the epoch; 0: unknown.
    at_ms: int = 0
    #: Turn that added it, such as `SESSION:OPENED_MS:3`; empty: a program.
    source: str = ""


class Recollections(Protocol):
    """Store of texts by scope. Methods may block, and may raise any error while the store is unavailable."""

    def recall(self, query: str, *, scope: Scope, limit: int) -> Iterable[Recollection | str]:
        """Return up to `limit` texts of the scope that fit the query best, the best first.

        An empty query asks for the newest texts.
        """
        ...

    def remember(self, texts: Sequence[str], *, scope: Scope, source: str) -> None:
        """Store texts. A second call with the same `source`, the id of a turn, should store nothing."""
        ...

    def forget(self, scope: Scope) -> int:
        """Delete all texts of the scope; return their number, or -1 if it is unknown."""
        ...


def to_recollections(items: Iterable[Recollection | str]) -> list[Recollection]:
    """Return what a store recalled, with one form; items without text are left out."""
    recollections = (item if isinstance(item, Recollection) else Recollection(text=item) for item in items)
    return [recollection for recollection in recollections if recollection.text.strip()]


def bounded_texts(recollections: Iterable[Recollection]) -> tuple[str, ...]:
    """Return the texts for a turn: single lines, each once, at most `MAX_RECALLED_CHARACTERS` together."""
    texts: list[str] = []
    room = MAX_RECALLED_CHARACTERS
    for recollection in recollections:
        text = _single_line(recollection.text)[:MAX_TEXT]
        if text and text not in texts and len(text) <= room:
            texts.append(text)
            room -= len(text)
    return tuple(texts[:MAX_RECALLED])


_LINE = re.compile(r"[*_`]*NOTE[*_`]*\s*:[*_`]*\s*(.*)")


def read_notes(lines: Iterable[str]) -> tuple[str, ...]:
    """Return the texts of lines `NOTE: text`, each once, without Markdown around them."""
    texts = (match[1].strip(" *_`") for line in lines if (match := _LINE.match(line)))
    return tuple(dict.fromkeys(_single_line(text)[:MAX_TEXT] for text in texts if text))

"""Long-term memory for programs and people: recall, remember, forget.

memory = Client().recollections
memory.remember("user:42", ["Prefers the window seat."])
memory.recall("user:42", "Which seat?")[0].text
# "Prefers the window seat."
"""

from __future__ import annotations

from collections.abc import Callable, Iterable

from ..models.errors import InvalidInput
from ..models.memory.parameters import user_key
from ..models.memory.recollections import (
    MAX_QUERY,
    MAX_TEXT,
    Recollection,
    Recollections,
    Scope,
    to_recollections,
)
from ..models.text.ids import new_id
from ..models.text.redact import clean_text
from .turn_recollections import PendingNotes

#: Maximum number of texts of one call.
MAX_TEXTS_PER_CALL = 1_000


class LongTermMemory:
    """Texts of users, rooms and tenants that their sessions recall.

    A scope is a text such as `user:42`, `room:lobby` or `tenant:acme`.

    Args:
        find_store: Returns the store; called when it is first needed. Raises InvalidInput without one.
        pending: Notes of sessions that wait for the store; they are forgotten, too.
    """

    def __init__(self, find_store: Callable[[], Recollections], pending: PendingNotes) -> None:
        self._find_store = find_store
        self._pending = pending

    def recall(
        self, scope: str, query: str = "", *, tenant: str | None = None, limit: int = 20
    ) -> list[Recollection]:
        """Return the texts of a scope that fit a query best, or its newest texts.

        Args:
            scope: The scope.
            query: Text that describes what is needed. Empty: the newest texts.
            tenant: Tenant of the user or room. None: of sessions without a tenant.
            limit: Maximum number of texts.

        Returns:
            The texts, the best first.

        Raises:
            InvalidInput: A bad scope or limit, or no store is configured.
            ArchiveUnavailable: The archive does not answer.
        """
        if not 1 <= limit <= MAX_TEXTS_PER_CALL:
            raise InvalidInput("limit", limit, f"must be from 1 to {MAX_TEXTS_PER_CALL}")
        parsed = Scope.parse(scope, tenant=tenant)
        return to_recollections(self._find_store().recall(query[:MAX_QUERY], scope=parsed, limit=limit))

    def remember(self, scope: str, texts: Iterable[str], *, tenant: str | None = None) -> None:
        """Store texts in a scope.

        Args:
            scope: The scope.
            texts: The texts, each of at most 2,000 characters.
            tenant: Tenant of the user or room. None: of sessions without a tenant.

        Raises:
            InvalidInput: A bad scope or text, or no store is configured.
            ArchiveUnavailable: The archive does not answer.
        """
        parsed = Scope.parse(scope, tenant=tenant)
        given = [texts] if isinstance(texts, str) else list(texts)
        if len(given) > MAX_TEXTS_PER_CALL:
            raise InvalidInput("texts", len(given), f"must be at most {MAX_TEXTS_PER_CALL} texts")
        checked = [_check_text(index, content) for index, content in enumerate(given)]
        if checked:
            self._find_store().remember(checked, scope=parsed, source=f"program:{new_id()}")

    def forget(self, scope: str, *, tenant: str | None = None) -> int:
        """Delete all texts of a scope.

        Args:
            scope: The scope.
            tenant: Tenant of the user or room. None: of sessions without a tenant.

        Returns:
            The number of deleted texts; -1 if the store does not report it.

        Raises:
            InvalidInput: A bad scope, or no store is configured.
            ArchiveUnavailable, RedisUnavailable: The call may be repeated.
        """
        parsed, store = Scope.parse(scope, tenant=tenant), self._find_store()
        self._pending.drop(parsed.__eq__)
        return store.forget(parsed)

    def forget_user(self, user_id: object) -> int:
        """Delete all texts of a user: in every tenant if the archive has them, else those without a tenant.

        Args:
            user_id: The user.

        Returns:
            The number of deleted texts; -1 if the store does not report it.

        Raises:
            InvalidInput: A bad id, or no store is configured.
            ArchiveUnavailable, RedisUnavailable: The call may be repeated.
        """
        user, store = user_key(user_id), self._find_store()
        if user is None:
            raise InvalidInput("user_id", user_id, "is required")
        self._pending.drop_user(user)
        forget_user: Callable[[str], int] | None = getattr(store, "forget_user", None)
        return store.forget(Scope.of("user", user)) if forget_user is None else forget_user(user)


def _check_text(index: int, content: object) -> str:
    if not isinstance(content, str) or not content.strip() or len(content) > MAX_TEXT:
        rule = f"must be a text of 1 to {MAX_TEXT} characters"
        raise InvalidInput(f"texts[{index}]", content, rule)
    return clean_text(content)

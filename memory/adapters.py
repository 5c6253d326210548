"""Stores of the long-term memory outside the archive: mem0, and any pair of functions, such as of a vector store."""

from __future__ import annotations

import inspect
from collections.abc import Callable, Iterable, Sequence
from typing import Any

from ..models.errors import InvalidInput
from ..models.memory.recollections import Recollection, Scope


class Mem0Recollections:
    """Long-term memory in mem0. Each scope is a user of mem0.

    Args:
        memory: A `Memory` or `MemoryClient` of mem0.
        infer: Whether mem0 extracts facts from the texts with its model; False: it stores the texts as they are.
    """

    def __init__(self, memory: Any, *, infer: bool = False) -> None:
        self._memory = memory
        self._infer = infer
        # Version 2 takes the user as a filter, and `top_k` for `limit`.
        self._takes_user = "user_id" in inspect.signature(memory.search).parameters

    def recall(self, query: str, *, scope: Scope, limit: int) -> list[Recollection]:
        """Return what mem0 finds for the query."""
        if not query.strip():
            items = self._call(self._memory.get_all, scope, limit)
        elif self._takes_user:
            items = self._memory.search(query, user_id=scope.key, limit=limit)
        else:
            items = self._memory.search(query, filters={"user_id": scope.key}, top_k=limit)
        results = items.get("results", ()) if isinstance(items, dict) else items
        return [Recollection(text=item["memory"]) for item in results if item.get("memory")][:limit]

    def _call(self, method: Callable[..., Any], scope: Scope, limit: int) -> Any:
        if self._takes_user:
            return method(user_id=scope.key, limit=limit)
        return method(filters={"user_id": scope.key}, top_k=limit)

    def remember(self, texts: Sequence[str], *, scope: Scope, source: str) -> None:
        """Add the texts; `source` is their metadata."""
        for content in texts:
            message = {"role": "user", "content": content}
            self._memory.add([message], user_id=scope.key, metadata={"source": source}, infer=self._infer)

    def forget(self, scope: Scope) -> int:
        """Delete all texts of the scope. mem0 does not report their number."""
        self._memory.delete_all(user_id=scope.key)
        return -1


class FunctionRecollections:
    """Long-term memory in any store, by functions that get the scope as a text (`Scope.key`).

    Args:
        recall: `recall(query, scope, limit)` returns up to `limit` texts, the best first.
        remember: `remember(texts, scope)` stores texts.
        forget: `forget(scope)` deletes all texts of a scope; None: they cannot be deleted here.
    """

    def __init__(
        self,
        recall: Callable[[str, str, int], Iterable[str]],
        remember: Callable[[Sequence[str], str], object],
        forget: Callable[[str], object] | None = None,
    ) -> None:
        self._recall = recall
        self._remember = remember
        self._forget = forget

    def recall(self, query: str, *, scope: Scope, limit: int) -> list[Recollection]:
        """Return what the function finds."""
        return [Recollection(text=content) for content in self._recall(query, scope.key, limit)][:limit]

    def remember(self, texts: Sequence[str], *, scope: Scope, source: str) -> None:  # noqa: ARG002 - protocol
        """Pass the texts to the function."""
        self._remember(texts, scope.key)

    def forget(self, scope: Scope) -> int:
        """Pass the scope to the function.

        Raises:
            InvalidInput: There is no function for it.
        """
        if self._forget is None:
            raise InvalidInput("scope", str(scope), "must be deleted in its store: `forget` is not set")
        self._forget(scope.key)
        return -1

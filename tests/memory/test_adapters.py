"""Stores of the long-term memory outside the archive, in the shape of mem0 and as functions."""

from __future__ import annotations

import sys
from collections.abc import Callable
from typing import Any

import pytest

from symposia import FunctionRecollections, Mem0Recollections, run_local_sync
from symposia.models.errors import InvalidInput
from symposia.models.memory.recollections import Recollections, Scope

ANN = Scope.of("user", "ann")
BEN = Scope.of("user", "ben", tenant="acme")


class Mem0:
    """The calls of version 1 that the adapter makes; finds texts with a common word."""

    def __init__(self) -> None:
        self.added: list[dict[str, Any]] = []

    def _of(self, user: str, query: str = "", limit: int = 100) -> dict[str, Any]:
        words = set(query.lower().split())
        items = [it for it in self.added if it["user_id"] == user]
        hits = [it for it in items if not words or words & set(it["memory"].lower().split())]
        return {"results": hits[:limit]}

    def add(self, messages: Any, *, user_id: str, metadata: dict[str, Any], infer: bool) -> None:
        assert not infer
        self.added += [{"memory": it["content"], "user_id": user_id, **metadata} for it in messages]

    def search(self, query: str, *, user_id: str, limit: int = 100) -> dict[str, Any]:
        return self._of(user_id, query, limit)

    def get_all(self, *, user_id: str, limit: int = 100) -> dict[str, Any]:
        return self._of(user_id, limit=limit)

    def delete_all(self, user_id: str) -> dict[str, str]:
        self.added = [it for it in self.added if it["user_id"] != user_id]
        return {"message": "deleted"}


class Mem0OfVersion2(Mem0):
    """Searches take the user as a filter."""

    def search(self, query: str, *, top_k: int = 20, filters: dict[str, str]) -> dict[str, Any]:  # type: ignore[override]
        return self._of(filters["user_id"], query, top_k)

    def get_all(self, *, filters: dict[str, str], top_k: int = 20) -> dict[str, Any]:  # type: ignore[override]
        return self._of(filters["user_id"], limit=top_k)


def functions() -> FunctionRecollections:
    memory = Mem0()
    return FunctionRecollections(
        lambda query, scope, limit: [
            it["memory"] for it in memory.search(query, user_id=scope, limit=limit)["results"]
        ],
        lambda texts, scope: memory.add(
            [{"content": text} for text in texts], user_id=scope, metadata={}, infer=False
        ),
        memory.delete_all,
    )


@pytest.mark.parametrize(
    "build",
    [lambda: Mem0Recollections(Mem0()), lambda: Mem0Recollections(Mem0OfVersion2()), functions],
    ids=["mem0 1", "mem0 2", "functions"],
)
def test_adapter_keeps_scopes_apart(build: Callable[[], Recollections]) -> None:
    def texts(query: str, scope: Scope) -> list[str]:
        return [getattr(it, "text", it) for it in store.recall(query, scope=scope, limit=5)]

    store = build()
    store.remember(["likes tea", "has cats"], scope=ANN, source="s:1:1")
    store.remember(["likes coffee"], scope=BEN, source="s:1:2")
    assert texts("tea", ANN) == ["likes tea"]
    assert texts("likes", BEN) == ["likes coffee"]
    assert texts("", ANN) == ["likes tea", "has cats"]
    store.forget(ANN)
    assert (texts("likes", ANN), texts("likes", BEN)) == ([], ["likes coffee"])


def test_functions_without_forget_refuse_it() -> None:
    store = FunctionRecollections(lambda *_: [], lambda *_: None)
    with pytest.raises(InvalidInput, match="must be deleted in its store"):
        store.forget(ANN)


#: A store by the name that a setting has.
shop = Mem0()
memory = Mem0Recollections(shop)


def test_local_session_uses_the_configured_store(monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setitem(sys.modules, "my_project", sys.modules[__name__])
    monkeypatch.setenv("SYMPOSIA_RECALL_STORE", "my_project:memory")
    seen: list[tuple[str, ...] | None] = []

    def ada(turn: Any) -> str:
        seen.append(turn.recalled)
        return "Done.\nNOTE: Orders a book every week."

    for _ in range(2):
        collab = {"title": "Shop", "purpose": "Sell a book", "mode": "round_robin"}
        run_local_sync(collab, agents={"ada": ada}, stop={"max_turns": 1}, recall="tenant", tenant="acme")
    assert seen == [(), ("Orders a book every week.",)]
    assert {it["user_id"] for it in shop.added} == {"tenant::acme"}
    assert len({it["source"] for it in shop.added}) == 2

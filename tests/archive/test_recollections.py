"""Texts of the long-term memory in both databases."""

from __future__ import annotations

import threading
from collections.abc import Iterator

import pytest
from sqlalchemy import inspect, text

from scaling import patient
from symposia.archive.archive import Archive
from symposia.archive.recollections import ArchivedRecollections
from symposia.models.memory.recollections import Scope
from symposia.workspace.sql.store import deliver_to_conversation

ANN = Scope.of("user", "ann")


@pytest.fixture
def store(archive: Archive) -> ArchivedRecollections:
    return ArchivedRecollections(archive, max_texts=10)


def texts(store: ArchivedRecollections, query: str = "", scope: Scope = ANN, limit: int = 20) -> list[str]:
    return [it.text for it in store.recall(query, scope=scope, limit=limit)]


def test_archive_without_texts_has_no_table(archive: Archive, store: ArchivedRecollections) -> None:
    assert (texts(store, "tea"), store.forget(ANN), store.prune(before_ms=0)) == ([], 0, 0)
    with archive.database.reading() as connection:
        assert not inspect(connection).has_table("recollection")


def test_best_match_comes_first_then_the_newest(store: ArchivedRecollections) -> None:
    stored = ["Flies to London every March.", "Drinks tea.", "Prefers window seats.", "Has two cats."]
    for number, content in enumerate(stored):
        store.remember([content], scope=ANN, source=f"s:1:{number}")
    assert texts(store, "Which SEAT by the window?", limit=3) == [stored[2], stored[3], stored[1]]
    assert set(texts(store, "seat london", limit=2)) == {stored[0], stored[2]}
    assert texts(store, limit=2) == ["Has two cats.", "Prefers window seats."]
    assert store.recall("tea", scope=ANN, limit=1)[0].source == "s:1:1"


@pytest.mark.parametrize(
    "query",
    [
        "",
        "?! -- '",
        '" OR text:*',
        "NEAR(a b)",
        "a' | 'b",
        "\x00 tea",
        "日本 ½ ²",
        "word " * 5_000,
        "scope : user",
    ],
)
def test_any_query_is_read_as_words(store: ArchivedRecollections, query: str) -> None:
    store.remember(["tea"], scope=ANN, source="s")
    assert texts(store, query) == ["tea"]


HOSTILE = [
    ANN,
    Scope.of("user", "ann", tenant="acme"),
    Scope.of("user", "ann", tenant="other"),
    Scope.of("user", "anna"),
    Scope.of("user", "a%"),
    Scope.of("user", "_nn"),
    Scope.of("user", "ANN"),
    Scope.of("room", "ann"),
    Scope.of("room", "acme:ann"),
    Scope.of("room", "ann' OR '1'='1"),
    Scope.of("room", '" OR scope:user'),
    Scope.of("tenant", "acme"),
    Scope.of("tenant", "acme:ann"),
]


def test_texts_never_reach_another_scope(store: ArchivedRecollections) -> None:
    for scope in HOSTILE:
        store.remember([f"tea of {scope.key}"], scope=scope, source="s")
    for scope in HOSTILE:
        assert texts(store, "tea user ann acme tenant room", scope) == [f"tea of {scope.key}"]
    assert store.forget(Scope.of("user", "a%")) == 1
    assert store.forget_user("ann") == 3
    left = [scope for scope in HOSTILE if texts(store, "tea", scope)]
    assert left == [scope for scope in HOSTILE if scope.kind != "user" or scope.id not in {"ann", "a%"}]


def test_repeated_text_is_stored_once_as_the_newest(store: ArchivedRecollections) -> None:
    for source, content in (("s:1:1", "Likes tea."), ("s:1:2", "Lives in Oslo."), ("s:1:3", "likes TEA.")):
        for _ in range(2):
            store.remember([content], scope=ANN, source=source)
    assert texts(store) == ["likes TEA.", "Lives in Oslo."]


def test_oldest_texts_of_a_full_scope_are_deleted(store: ArchivedRecollections) -> None:
    other = Scope.of("user", "ben")
    store.remember(["of ben"], scope=other, source="s")
    store.remember([f"fact {number}" for number in range(12)], scope=ANN, source="s")
    store.remember(["fact 12"], scope=ANN, source="t")
    assert texts(store) == [f"fact {number}" for number in range(12, 2, -1)]
    assert texts(store, "fact 2")[0] != "fact 2"  # its words are forgotten, too
    assert texts(store, scope=other) == ["of ben"]


def test_old_texts_are_pruned(archive: Archive, store: ArchivedRecollections) -> None:
    store.remember(["old"], scope=ANN, source="s")
    with archive.database.writing() as connection:
        connection.execute(text("UPDATE recollection SET at_ms = 1000"))
    store.remember(["new"], scope=ANN, source="s")
    assert store.prune(before_ms=1_001, user="ben") == 0
    assert store.prune(before_ms=1_001, dry_run=True) == 1
    assert store.prune(before_ms=1_001) == 1
    assert texts(store) == ["new"]


@pytest.fixture
def archives(database_url: str) -> Iterator[list[Archive]]:
    archives = [Archive(database_url, deliver_to_conversation) for _ in range(4)]
    yield archives
    for archive in archives:
        archive.close()


def test_concurrent_writers_create_one_table(archives: list[Archive]) -> None:
    errors: list[BaseException] = []

    def write(number: int) -> None:
        try:
            store = ArchivedRecollections(archives[number])
            store.remember(["the same", f"fact {number}"], scope=ANN, source=f"s:{number}")
        except BaseException as error:  # noqa: BLE001 - reported below
            errors.append(error)

    threads = [threading.Thread(target=write, args=(number,)) for number in range(len(archives))]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patient(50))
    assert errors == []
    assert sorted(texts(ArchivedRecollections(archives[0]))) == [
        *(f"fact {number}" for number in range(4)),
        "the same",
    ]

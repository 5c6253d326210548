"""Long-term memory in sessions: notes are stored once and recalled later, whatever fails in between."""

from __future__ import annotations

import logging
import sqlite3
from collections.abc import Iterator, Sequence
from contextlib import closing
from dataclasses import replace
from pathlib import Path

import pytest

from dialog_memory.room import Room, open_room
from live import SUPPORT, patient, result_of, until
from sessions.archiving_stepper import archiving_stepper
from sessions.stepper import Stepper
from symposia.memory.turn_recollections import PendingNotes, TurnRecollections
from symposia.models.errors import InvalidInput
from symposia.models.memory.recollections import Recollection, Scope
from symposia.state.redis.keys import PENDING_NOTES
from symposia.tasks.runtime.runtime import Boundary

pytestmark = pytest.mark.leaves_keys

NOTE = "Likes the window seat."


@pytest.fixture
def stepper(redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Stepper]:
    """Sessions whose turns a test runs one by one, with an archive."""
    monkeypatch.syspath_prepend(str(SUPPORT))
    monkeypatch.setenv("SYMPOSIA_ARCHIVE", "true")
    monkeypatch.setattr("symposia.memory.turn_recollections.TIMEOUT_S", 20.0)
    with archiving_stepper(redis_url, tmp_path) as stepper:
        yield stepper


class Store:
    """A store that fails as often as it is told, and records what it stores."""

    def __init__(self, *, failures: int = 0) -> None:
        self.failures = failures
        self.stored: list[tuple[str, str]] = []

    def _fail(self) -> None:
        if self.failures:
            self.failures -= 1
            raise OSError("the store is down")

    def recall(self, query: str, *, scope: Scope, limit: int) -> Sequence[Recollection | str]:
        assert "book it" in query
        self._fail()
        return [content for key, content in self.stored if key == scope.key][:limit]

    def remember(self, texts: Sequence[str], *, scope: Scope, source: str) -> None:
        assert source
        self._fail()
        self.stored += [(scope.key, content) for content in texts]

    def forget(self, scope: Scope) -> int:
        raise NotImplementedError(scope)


def recollections(stepper: Stepper, store: Store) -> TurnRecollections:
    return TurnRecollections(lambda: store, PendingNotes(stepper.runtime.store.client))


def with_store(stepper: Stepper, store: Store) -> dict[str, object]:
    """The ports of a runtime with this store, as an argument of `Stepper.turn`."""
    return {"ports": replace(stepper.runtime.ports, recollections=recollections(stepper, store))}


def test_note_is_recalled_by_a_later_session(stepper: Stepper) -> None:
    first = stepper.open("noter", turns=1, recall="user", user_id=42)
    assert stepper.turn(first, 1) == "committed"
    assert [it.text for it in stepper.client.recollections.recall("user:42")] == [NOTE]
    assert said(stepper, recall="user", user_id=42) == f"knows: {NOTE}"
    for other in (
        {"recall": "user", "user_id": 43},
        {"recall": "user", "user_id": 42, "tenant": "acme"},
        {"recall": "room", "room_id": "42"},
        {"recall": "tenant", "tenant": "42"},
        {"user_id": 42},
    ):
        assert said(stepper, **other) == "knows: "
    assert stepper.client.recollections.forget("user:42") == 1
    assert said(stepper, recall="user", user_id=42) == "knows: "


def said(stepper: Stepper, **how: object) -> str:
    job = stepper.open("reader", turns=1, **how)
    assert stepper.turn(job, 1) == "committed"
    return job.dialog().messages[-1].content


def test_continued_session_has_the_same_memory(stepper: Stepper) -> None:
    job = stepper.open("noter", turns=1, recall="user", user_id=42)
    stepper.turn(job, 1)
    again = stepper.client.submit(continues=job.id)
    stepper.plan(again)
    stepper.turn(again, 1)
    assert len(stepper.client.recollections.recall("user:42")) == 1


def test_session_without_recall_stores_nothing(stepper: Stepper, caplog: pytest.LogCaptureFixture) -> None:
    job = stepper.open("noter", turns=1, user_id=42)
    stepper.turn(job, 1)
    assert stepper.client.recollections.recall("user:42") == []


@pytest.mark.parametrize(
    ("how", "rule"),
    [
        ({"recall": "tenant"}, "recall: requires `tenant`"),
        ({"recall": "user", "user_id": 42}, r"recall: requires an archive \(SYMPOSIA_ARCHIVE=true\)"),
    ],
)
def test_impossible_option_is_refused(
    redis_url: str, tmp_path: Path, monkeypatch: pytest.MonkeyPatch, how: dict[str, object], rule: str
) -> None:
    monkeypatch.setenv("SYMPOSIA_ARCHIVE", "false" if "user_id" in how else "true")
    stepper = Stepper.on(redis_url, tmp_path)
    with pytest.raises(InvalidInput, match=rule):
        stepper.open("noter", turns=1, **how)


def test_unavailable_store_delays_notes_only(stepper: Stepper, caplog: pytest.LogCaptureFixture) -> None:
    job = stepper.open("noter", turns=3, recall="user", user_id=42)
    store = Store(failures=2)
    memory = recollections(stepper, store)
    changed = {"ports": replace(stepper.runtime.ports, recollections=memory)}
    with caplog.at_level(logging.WARNING):
        for number in (1, 2, 3):
            assert stepper.turn(job, number, **changed) == "committed"
    assert job.result(timeout=patient(5)).reason == "max_turns"
    lines = [it.getMessage() for it in caplog.records if "long-term memory" in it.getMessage()]
    assert lines == [
        f"long-term memory unavailable, {effect}, next attempt in 30 s: the store is down"
        for effect in ("turns run without it", "notes are stored later")
    ]
    assert (store.stored, memory.retry()) == ([], 0)  # this process does not try again yet
    assert recollections(stepper, store).retry() == 3
    assert store.stored == [(Scope.of("user", 42).key, NOTE)] * 3
    assert not stepper.runtime.store.client.exists(PENDING_NOTES)


def test_waiting_notes_are_forgotten_with_their_scope(stepper: Stepper) -> None:
    store = Store()
    for user in (42, 43):
        job = stepper.open("noter", turns=1, recall="user", user_id=user)
        store.failures = 2
        stepper.turn(job, 1, **with_store(stepper, store))
    stepper.client.recollections.forget("user:42")
    assert recollections(stepper, store).retry() == 1
    assert store.stored == [(Scope.of("user", 43).key, NOTE)]


class Killed(BaseException):
    """The worker dies here."""


def test_worker_that_dies_after_the_commit_loses_no_note(stepper: Stepper) -> None:
    job, store = stepper.open("noter", turns=1, recall="user", user_id=42), Store()

    def die(boundary: Boundary, _session: str, _number: int) -> None:
        if boundary is Boundary.AFTER_COMMIT:
            raise Killed

    with pytest.raises(Killed):
        stepper.turn(job, 1, fault_hook=die, **with_store(stepper, store))
    assert store.stored == []
    for _ in range(3):  # repeated deliveries of the turn
        stepper.turn(job, 1, **with_store(stepper, store))
    assert store.stored == [(Scope.of("user", 42).key, NOTE)]
    assert job.result(timeout=patient(5)).reason == "max_turns"


def test_notes_are_stored_once_if_two_workers_plan(stepper: Stepper) -> None:
    job, store = stepper.open("noter", turns=1, recall="user", user_id=42), Store()
    facts = stepper.runtime.sessions.facts.get(job.id)
    states = []

    class Late(TurnRecollections):
        def remember(self, facts, state) -> None:
            states.append(state)
            super().remember(facts, state)

    late = Late(lambda: store, PendingNotes(stepper.runtime.store.client))
    stepper.turn(job, 1, ports=replace(stepper.runtime.ports, recollections=late))
    assert len(states) == 1
    recollections(stepper, store).remember(facts, states[0])
    assert len(store.stored) == 1
    assert not stepper.runtime.store.client.exists(PENDING_NOTES)


def test_failed_turn_stores_nothing(stepper: Stepper) -> None:
    job = stepper.open(
        "noter",
        turns=1,
        recall="user",
        user_id=42,
        output={"type": "integer"},
        policy={"attempts": 1, "then": "skip"},
    )
    stepper.turn(job, 1)
    assert stepper.client.recollections.recall("user:42") == []


@pytest.fixture(scope="module")
def room(tmp_path_factory: pytest.TempPathFactory) -> Iterator[Room]:
    """A worker with an archive."""
    yield from open_room(tmp_path_factory.mktemp("room"), archive="true")


@pytest.mark.long
@pytest.mark.timeout(180)
def test_worker_stores_and_recalls(room: Room) -> None:
    scope = {"recall": "tenant", "tenant": "acme"}
    assert room.said(room.submit("noter", turns=1, **scope)) == [f"A seat.\n**NOTE:** {NOTE}"]
    assert room.said(room.submit("reader", turns=1, **scope)) == [f"knows: {NOTE}"]
    assert room.said(room.submit("reader", turns=1, recall="tenant", tenant="other")) == ["knows: "]


@pytest.mark.long
@pytest.mark.timeout(180)
def test_worker_stores_notes_after_the_database_was_locked(room: Room) -> None:
    with closing(sqlite3.connect(room.folder / "archive.sqlite3", isolation_level=None)) as other:
        other.execute("BEGIN EXCLUSIVE")
        job = room.submit("noter", turns=2, recall="user", user_id=7)
        assert result_of(job, timeout_s=60).reason == "max_turns"
        until(lambda: "long-term memory unavailable, notes are stored later" in room.worker.log())
        other.execute("ROLLBACK")
    until(lambda: room.client.recollections.recall("user:7"), timeout_s=90)

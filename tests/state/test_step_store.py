"""Records of steps: a stage never goes back, and one process at a time reports the end."""

from __future__ import annotations

from collections.abc import Iterator

import pytest
from redis import Redis

from symposia.models.text.ids import new_id
from symposia.state.steps import StepRecord, StepStore

HOUR_MS = 3_600_000
ID = new_id()


@pytest.fixture
def store(client: Redis) -> Iterator[StepStore]:
    store = StepStore(client)
    yield store
    store.finish(ID, ttl_ms=HOUR_MS)  # no record may be left that never expires


def register(store: StepStore, stage: str, call: str = "{}") -> str:
    return store.register(ID, call, stage=stage, check_in_ms=HOUR_MS)[0]


def read(store: StepStore) -> StepRecord:
    record = store.read(ID)
    assert record is not None
    return record


def test_repeated_registration_moves_the_stage_forward_only(store: StepStore) -> None:
    words = [register(store, "sent"), register(store, "waiting", "other"), register(store, "sent")]
    assert words == ["registered", "exists", "exists"]
    assert (read(store).stage, read(store).call) == ("waiting", "{}")
    store.finish(ID, ttl_ms=HOUR_MS)
    assert register(store, "sent") == "done"
    assert (read(store).stage, read(store).call, store.index.count()) == ("done", "", 0)


def test_time_of_a_message_is_recorded(store: StepStore) -> None:
    assert register(store, "waiting") == "registered"
    assert read(store).sent_ms == 0
    register(store, "sent")
    assert read(store).sent_ms > 0


@pytest.mark.parametrize(("stage", "sends"), [("sent", 2), ("waiting", 1)])
def test_messages_are_counted(store: StepStore, stage: str, sends: int) -> None:
    assert store.count_message(ID, is_new=False) is None
    register(store, stage)
    counts = [store.count_message(ID, is_new=is_new) for is_new in (False, False, True, False)]
    assert [it and it[0] for it in counts] == [sends, sends + 1, 1, 2]
    store.finish(ID, ttl_ms=HOUR_MS)
    assert store.count_message(ID, is_new=True) is None


def test_one_run_reports_the_end(store: StepStore) -> None:
    assert store.claim(ID, lease_ms=HOUR_MS) == "missing"
    register(store, "waiting")
    assert [store.claim(ID, lease_ms=it) for it in (-1, HOUR_MS, HOUR_MS)] == ["granted", "granted", "held"]
    store.finish(ID, ttl_ms=HOUR_MS)
    assert store.claim(ID, lease_ms=HOUR_MS) == "done"


def test_one_process_calls_the_url(store: StepStore) -> None:
    granted = [store.claim_call(ID, lease_ms=it, ttl_ms=HOUR_MS) for it in (-1, HOUR_MS, HOUR_MS)]
    assert granted == [True, True, False]
    assert store.count_attempt(ID, ttl_ms=HOUR_MS) == 1
    assert store.claim_call(ID, lease_ms=HOUR_MS, ttl_ms=HOUR_MS)
    store.finish(ID, ttl_ms=HOUR_MS)
    assert not store.claim_call(ID, lease_ms=HOUR_MS, ttl_ms=HOUR_MS)


@pytest.mark.parametrize("stage", ["sent", "waiting"])
def test_step_that_a_worker_has_is_not_withdrawn(store: StepStore, stage: str) -> None:
    register(store, stage)
    store.withdraw(ID, check_in_ms=HOUR_MS)
    assert (store.read(ID) is None) == (stage == "sent")

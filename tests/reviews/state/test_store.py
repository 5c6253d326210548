"""The scripts of batch reviews: claims, limits, results, retries and ends; each once, also with lost answers."""

from __future__ import annotations

from collections import Counter

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from review_tools.batches import head, item, settle, started
from scaling import scaled_examples
from servers.lossy import lossy_wire
from symposia.models.errors import ReviewError, ReviewNotFound
from symposia.models.text.ids import new_id
from symposia.reviews.state.store import ReviewStore
from symposia.reviews.values.runs import ItemState
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import review_key

DONE, FAILED = ItemState.DONE, ItemState.FAILED


@pytest.fixture
def store(client: Redis) -> ReviewStore:
    return ReviewStore(client, retention_s=60)


def test_items_are_claimed_once_within_the_limit(store):
    batch = started(store, 5, parallel=2)
    assert store.claim(batch) == ("claimed", [1, 2], [], "")
    assert store.claim(batch) == ("claimed", [], [], "")
    assert settle(store, batch, 1) == "settled"
    assert store.claim(batch)[1] == [3]


def test_result_counts_once(store):
    batch = started(store, 1)
    store.claim(batch)
    record = store.item(batch, 1)
    assert store.record_result(record, batch, DONE, "{}", spent=(7, 0))[0] == "settled"
    assert store.record_result(record, batch, FAILED, "{}", spent=(7, 0))[0] == "stale"
    view = store.view(batch)
    assert (view.done, view.failed, view.spent_tokens) == (1, 0, 7)


def test_result_of_an_ended_attempt_is_refused(store):
    batch = started(store, 1, attempts=2)
    store.claim(batch)
    late = store.item(batch, 1)
    assert settle(store, batch, 1, FAILED) == "again"
    store.claim(batch)
    assert store.record_result(late, batch, DONE, "{}", spent=(0, 0))[0] == "stale"
    assert store.item(batch, 1).attempt == 2
    assert settle(store, batch, 1, FAILED) == "settled"
    assert store.view(batch).failed == 1


def test_nothing_starts_before_all_items_are_added(store):
    made = head()
    store.open(made, store.claim_start(made.batch_id))
    store.add(made.batch_id, 1, 1, item(1), "text")
    assert store.claim(made.batch_id)[0] == "opening"


def test_only_the_latest_starter_writes(store):
    made = head()
    first = store.claim_start(made.batch_id)
    assert store.open(made, first)
    store.add(made.batch_id, first, 2, item(2), "left over")
    second = store.claim_start(made.batch_id)
    assert store.open(made, second)
    store.add(made.batch_id, second, 1, item(1), "text")
    for write in (
        lambda: store.open(made, first),
        lambda: store.add(made.batch_id, first, 1, item(1), "other"),
        lambda: store.add_known(made.batch_id, first, 1, item(1), "{}"),
        lambda: store.start(made, first, failure="x"),
    ):
        with pytest.raises(ReviewError, match="another worker has begun to start review"):
            write()
    store.start(made, second, total=1)
    assert store.claim(made.batch_id)[1] == [1]
    store.start(made, second, total=1)  # as a client repeats it if the answer is lost
    assert not store.open(made, store.claim_start(made.batch_id))
    assert (store.view(made.batch_id).running, store.text(made.batch_id, 1)) == (1, "text")


def test_dead_reporter_is_replaced(store):
    batch = started(store, 1)
    store.claim(batch)
    assert store.end(batch, "a", lease_ms=60_000) == "open"
    settle(store, batch, 1)
    assert store.claim(batch)[0] == "idle"
    assert store.end(batch, "a", lease_ms=60_000) == "yours"
    assert store.end(batch, "b", lease_ms=60_000) == "taken"
    assert store.end(batch, "b", lease_ms=60_000, is_done=True) == "taken"
    assert store.end(batch, "a", lease_ms=0) == "yours"
    assert store.end(batch, "b", lease_ms=60_000, is_done=True) == "taken"
    assert store.end(batch, "b", lease_ms=60_000) == "yours"
    assert store.end(batch, "a", lease_ms=60_000, is_done=True) == "taken"
    assert store.end(batch, "b", lease_ms=60_000, is_done=True) == "ended"
    assert store.end(batch, "a", lease_ms=60_000) == "ended"
    assert (store.view(batch).state, store.claim(batch)[0]) == ("completed", "closed")


def test_stop_cancels_waiting_and_names_running_items(store):
    batch = started(store, 3, parallel=1)
    store.claim(batch)
    assert store.stop(batch, outcome="cancelled", reason="enough") == [1]
    assert store.stop(batch, outcome="partial", reason="later") == [1]
    assert store.claim(batch)[0] == "stopping"
    assert settle(store, batch, 1, FAILED) == "settled"
    assert store.end(batch, "a", lease_ms=60_000) == "yours"
    store.end(batch, "a", lease_ms=60_000, is_done=True)
    view = store.view(batch)
    assert (view.state, view.reason, view.cancelled, view.failed) == ("cancelled", "enough", 2, 1)
    assert store.stop(batch, outcome="cancelled", reason="x") is None


def test_retry_repeats_failed_items_only(store):
    batch = started(store, 3)
    store.claim(batch)
    assert store.retry(batch) is None
    for number, outcome in enumerate((DONE, FAILED, ItemState.CANCELLED), 1):
        settle(store, batch, number, outcome)
    store.end(batch, "a", lease_ms=60_000)
    store.end(batch, "a", lease_ms=60_000, is_done=True)
    assert store.view(batch).state == "partial"
    assert store.retry(batch) == 2
    view = store.view(batch)
    assert (view.state, view.waiting, view.done, view.failed, view.cancelled) == ("running", 2, 1, 0, 0)
    assert store.claim(batch)[1] == [2, 3]
    assert [store.item(batch, number).attempt for number in (1, 2, 3)] == [1, 2, 2]


def test_overdue_batches_are_reported(store):
    batch = started(store, 2, batch={"max_s": 0.001})
    word = store.claim(batch)[0]
    while word == "claimed":
        word = store.claim(batch)[0]
    assert word == "late"


def test_every_review_call_may_be_repeated(store, redis_url):
    with lossy_wire(redis_url) as wire, connect(wire.url) as losing:
        unlucky = ReviewStore(losing, retention_s=60)
        batch = started(store, 2, parallel=1)
        unlucky.claim(batch)
        assert store.view(batch).running == 1
        settle(unlucky, batch, 1, spent=(5, 0))
        unlucky.claim(batch)
        unlucky.stop(batch, outcome="cancelled", reason="x")
        settle(unlucky, batch, 2)
        view = store.view(batch)
        assert (view.done, view.spent_tokens, view.running) == (2, 5, 0)
        assert unlucky.end(batch, "a", lease_ms=60_000) == "yours"
        assert unlucky.end(batch, "a", lease_ms=60_000, is_done=True) == "ended"
        assert wire.lost > 0


def test_review_keys_expire(store, client):
    batch = started(store, 2)
    store.claim(batch)
    keys = list(client.scan_iter("symposia:{review:*"))
    assert len(keys) >= 5
    assert all(0 < client.ttl(key) <= 60 for key in keys)
    store.drop_text(batch, 1)
    assert not client.exists(review_key(batch, "text:1"))


def test_unknown_batch_is_not_found(store):
    for ask in (store.view, store.head, store.retry):
        with pytest.raises(ReviewNotFound):
            ask(new_id())
    assert store.claim(new_id())[0] == "missing"


@settings(max_examples=scaled_examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    limit=st.integers(1, 400),
    parallel=st.integers(1, 5),
    count=st.integers(1, 8),
    spending=st.lists(st.integers(0, 100), min_size=20, max_size=20),
    order=st.randoms(use_true_random=False),
)
def test_items_are_never_lost_or_doubled(store, limit, parallel, count, spending, order):
    batch = started(store, count, parallel=parallel, attempts=2, batch={"max_tokens": limit})
    settled: Counter[int] = Counter()
    under_way: list[int] = []
    spent = 0
    for step in range(60):
        word, claimed, _, _ = store.claim(batch)
        if word != "claimed":
            break
        under_way += claimed
        records = [store.item(batch, number) for number in under_way]
        held = sum(record.tokens for record in records)
        assert len(under_way) <= parallel
        assert spent + held <= limit
        number = under_way.pop(order.randrange(len(under_way)))
        cost = min(spending[step % 20], store.item(batch, number).tokens)
        spent += cost
        outcome = order.choice((DONE, FAILED))
        if settle(store, batch, number, outcome, spent=(cost, 0)) == "settled":
            settled[number] += 1
    assert word in ("idle", "exhausted")
    assert set(settled.values()) <= {1}
    view = store.view(batch)
    assert view.spent_tokens == spent <= limit
    assert view.settled + view.waiting == count
    assert view.running == 0


def end(store, batch):
    assert store.end(batch, "a", lease_ms=60_000) == "yours"
    assert store.end(batch, "a", lease_ms=60_000, is_done=True) == "ended"
    return store.view(batch)


def test_items_share_the_remaining_budget(store):
    batch = started(store, 2, parallel=2, batch={"max_tokens": 101, "max_usd": 0.000_003})
    assert store.claim(batch)[:2] == ("claimed", [1, 2])
    items = [store.item(batch, number) for number in (1, 2)]
    assert [(it.tokens, it.cost_micros) for it in items] == [(50, 1), (51, 2)]


def test_items_get_at_least_what_they_need(store):
    batch = started(store, 3, needs=[100, 400, 20], parallel=3, batch={"max_tokens": 1_000})
    assert store.claim(batch)[1] == [1, 2, 3]
    shares = [store.item(batch, number).tokens for number in (1, 2, 3)]
    assert shares == [192, 769, 39]


def test_items_that_need_too_much_wait_for_the_others(store):
    batch = started(store, 3, needs=[60, 80, 30], parallel=3, batch={"max_tokens": 100})
    assert store.claim(batch)[1] == [1]  # with slack for an estimate that is too low
    settle(store, batch, 1, spent=(15, 0))
    assert store.claim(batch)[1] == [2]
    settle(store, batch, 2, spent=(40, 0))
    assert store.claim(batch)[1] == [3]
    settle(store, batch, 3, spent=(45, 0))
    assert store.claim(batch)[0] == "idle"


def test_items_that_fit_start_before_those_that_never_do(store):
    batch = started(store, 3, needs=[500, 10, 500], parallel=2, batch={"max_tokens": 100})
    assert store.claim(batch)[1] == [2]
    settle(store, batch, 2, spent=(10, 0))
    assert store.claim(batch) == ("exhausted", [], [], "tokens")


@settings(max_examples=scaled_examples(60), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(
    needs=st.lists(st.integers(1, 50), min_size=1, max_size=8),
    spent=st.lists(st.integers(0, 60), min_size=8, max_size=8),
    limit=st.integers(1, 200),
    parallel=st.integers(1, 4),
)
def test_shares_never_exceed_the_limit_together(store, needs, spent, limit, parallel):
    batch = started(store, len(needs), needs=needs, parallel=parallel, batch={"max_tokens": limit})
    used, running = 0, list[int]()
    for _ in needs:
        running += store.claim(batch)[1]
        shares = {number: store.item(batch, number).tokens or 0 for number in running}
        assert used + sum(shares.values()) <= limit
        assert all(share >= needs[number - 1] for number, share in shares.items())
        if not running:
            break
        done = running.pop(0)
        used += min(spent[done - 1], shares[done])
        settle(store, batch, done, spent=(min(spent[done - 1], shares[done]), 0))


def test_items_without_limits_may_spend_anything(store):
    batch = started(store, 1)
    assert store.claim(batch)[0] == "claimed"
    assert (store.item(batch, 1).tokens, store.item(batch, 1).cost_micros) == (None, None)


@pytest.mark.parametrize(
    ("limits", "unit", "spent"),
    [({"max_tokens": 2}, "tokens", (2, 0)), ({"max_usd": 0.000_002}, "cost", (0, 2))],
)
def test_batch_is_exhausted_only_when_nothing_runs(store, limits, unit, spent):
    batch = started(store, 3, parallel=2, batch=limits)
    assert store.claim(batch) == ("claimed", [1, 2], [], "")
    settle(store, batch, 1, spent=tuple(amount // 2 for amount in spent))
    assert store.claim(batch) == ("claimed", [], [], "")
    settle(store, batch, 2, spent=tuple(amount // 2 for amount in spent))
    assert store.claim(batch) == ("exhausted", [], [], unit)


def test_batch_with_only_failed_items_has_failed(store):
    batch = started(store, 1)
    store.claim(batch)
    settle(store, batch, 1, FAILED)
    assert end(store, batch).state == "failed"


def test_the_first_report_sets_the_end(store, client):
    batch = started(store, 1)
    store.claim(batch)
    settle(store, batch, 1)
    assert store.end(batch, "a", lease_ms=0) == "yours"
    assert store.view(batch).ended_ms is not None
    client.hset(review_key(batch, "batch"), "ended_ms", 7)
    assert store.end(batch, "b", lease_ms=0) == "yours"
    assert store.view(batch).ended_ms == 7


@pytest.mark.parametrize("is_stopped", [False, True])
def test_only_unstopped_failures_are_repeated(store, is_stopped):
    batch = started(store, 2, parallel=2, attempts=2)
    store.claim(batch)
    if is_stopped:
        store.stop(batch, outcome="cancelled", reason="enough")
    assert settle(store, batch, 1) == "settled"
    assert settle(store, batch, 2, FAILED) == ("settled" if is_stopped else "again")


def test_running_batch_is_not_retried(store):
    made = head()
    store.open(made, store.claim_start(made.batch_id))
    assert store.retry(made.batch_id) is None
    batch = started(store, 2, parallel=1)
    store.claim(batch)
    assert store.retry(batch) is None
    store.stop(batch, outcome="cancelled", reason="enough")
    assert store.retry(batch) is None


def test_a_batch_without_failures_is_not_retried(store):
    batch = started(store, 1)
    store.claim(batch)
    settle(store, batch, 1)
    end(store, batch)
    assert store.retry(batch) == 0
    assert store.view(batch).state == "completed"


def test_a_retry_has_its_own_deadline_and_is_made_once(store, redis_url, client):
    batch = started(store, 1, batch={"max_s": 3_600})
    store.claim(batch)
    settle(store, batch, 1, FAILED)
    end(store, batch)
    with lossy_wire(redis_url) as wire, connect(wire.url) as losing:
        assert ReviewStore(losing, retention_s=60).retry(batch) == 1
        assert wire.lost > 0
    assert (store.item(batch, 1).attempt, store.view(batch).retries) == (2, 1)
    assert store.claim(batch)[:2] == ("claimed", [1])
    deadline_ms = int(client.hget(review_key(batch, "batch"), "deadline_ms"))
    assert deadline_ms > int(client.time()[0]) * 1_000 + 3_000_000

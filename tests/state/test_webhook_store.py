"""Deliveries to webhooks: bounded queues, a bounded list, and the end of each attempt."""

from __future__ import annotations

import pytest
from redis import Redis

from symposia.state import webhooks
from symposia.state.redis.keys import webhook_delivery_key
from symposia.state.webhooks import DeliveryState, WebhookDelivery, WebhookStore

HOUR_MS = 3_600_000
WAITING, DELIVERED, FAILED = DeliveryState


@pytest.fixture
def store(client: Redis) -> WebhookStore:
    return WebhookStore(client)


def add(store: WebhookStore, *ids: str, webhook: str = "ops") -> list[str]:
    return [store.add(it, webhook=webhook, event="session.ended", subject="s", body="{}") for it in ids]


def get(store: WebhookStore, delivery_id: str) -> WebhookDelivery:
    delivery = store.get(delivery_id)
    assert delivery is not None
    return delivery


def test_queue_is_bounded(store: WebhookStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "MAX_QUEUED", 2)
    assert add(store, "1", "2", "2", "3") == ["queued", "queued", "exists", "full"]
    (full,) = (it for it in store.deliveries() if it.state is FAILED)
    assert (full.body, store.send_again(full), store.waiting()) == ("", "bodiless", 2)


def test_dead_webhook_leaves_room_for_others(store: WebhookStore, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setattr(webhooks, "MAX_QUEUED_OF_ONE", 2)
    assert add(store, "1", "2", "3", webhook="dead") == ["queued", "queued", "full"]
    assert add(store, "other") == ["queued"]
    delivery = get(store, "1")
    store.end_attempt(delivery, WAITING, error="HTTP 503")
    assert add(store, "4", webhook="dead") == ["full"]
    store.end_attempt(delivery, DELIVERED)
    assert add(store, "5", webhook="dead") == ["queued"]


def test_records_are_deleted_with_their_place_in_the_list(
    store: WebhookStore, monkeypatch: pytest.MonkeyPatch
) -> None:
    monkeypatch.setattr(webhooks, "MAX_LISTED", 2)
    for number in "0123":
        add(store, number)
        if number != "1":  # this one waits
            store.end_attempt(get(store, number), DELIVERED)
            assert get(store, number).body == ""
    assert (store.get("0"), {it.id for it in store.deliveries()}) == (None, {"2", "3"})
    store.end_attempt(get(store, "1"), DELIVERED)
    assert (store.get("1"), store.waiting()) == (None, 0)


def test_delivery_that_is_sent_again_begins_anew(store: WebhookStore) -> None:
    add(store, "old", "new")
    store.end_attempt(get(store, "old"), FAILED, error="HTTP 500")
    assert store.send_again(get(store, "old")) == "queued"
    first = next(store.deliveries())
    assert (first.id, first.attempts, first.error) == ("old", 0, "")


@pytest.mark.parametrize("retry_in_ms", [0, HOUR_MS])
def test_failed_attempt_is_repeated_after_its_delay(store: WebhookStore, retry_in_ms: int) -> None:
    add(store, "1")
    (delivery,) = store.claim("ops", limit=5, hold_ms=HOUR_MS)
    store.end_attempt(delivery, WAITING, error="HTTP 503", retry_in_ms=retry_in_ms)
    found = get(store, "1")
    assert (found.state, found.attempts, found.error, store.waiting()) == (WAITING, 1, "HTTP 503", 1)
    assert store.claim("ops", limit=5, hold_ms=HOUR_MS) == ([] if retry_in_ms else [found])


@pytest.mark.parametrize(
    ("first", "second", "end"),
    [
        (FAILED, WAITING, FAILED),
        (FAILED, DELIVERED, DELIVERED),
        (DELIVERED, WAITING, DELIVERED),
        (DELIVERED, FAILED, DELIVERED),
    ],
)
def test_slower_attempt_changes_an_end_only_to_delivered(
    store: WebhookStore, first: DeliveryState, second: DeliveryState, end: DeliveryState
) -> None:
    add(store, "1")
    (delivery,) = store.claim("ops", limit=1, hold_ms=0)
    for state in (first, second):
        store.end_attempt(delivery, state, error="" if state is DELIVERED else state)
    found = get(store, "1")
    assert (found.state, found.attempts, found.error) == (end, 2, "" if end is DELIVERED else FAILED)
    assert (found.body == "", store.waiting(), store.claim("ops", limit=1, hold_ms=0)) == (
        end is DELIVERED,
        0,
        [],
    )


def test_delivery_without_a_record_waits_no_more(store: WebhookStore, client: Redis) -> None:
    add(store, "1")
    delivery = get(store, "1")
    client.delete(webhook_delivery_key("1"))  # as if it had expired
    store.end_attempt(delivery, WAITING)
    assert (store.get("1"), store.waiting()) == (None, 0)

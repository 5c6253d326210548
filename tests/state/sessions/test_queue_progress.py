"""How far the workers have come in the queue, and when a probe may be sent."""

from __future__ import annotations

import pytest

from sessions.table import until
from symposia.state.redis.keys import QUEUE_PROGRESS
from symposia.state.redis.readers import server_ms
from symposia.state.sessions.index import TTL_MS, QueueProgress

#: A grace no test waits for.
GRACE = 60_000


@pytest.fixture
def mark(client):
    return QueueProgress(client)


@pytest.fixture
def free(mark):
    """The mark of a worker that has just said that it is free."""
    mark.publish(is_free=True)
    return mark


def quiet(client, *, ms=GRACE):
    """Lets the mark look as if all of it had happened `ms` milliseconds earlier."""
    for field in ("taken_ms", "moved_ms", "probed_ms"):
        if value := client.hget(QUEUE_PROGRESS, field):
            client.hset(QUEUE_PROGRESS, field, int(value) - ms)


def test_no_progress_before_the_first_report(client, mark):
    assert mark.publish() == 0
    assert not client.exists(QUEUE_PROGRESS)


def test_newest_time_of_all_workers_counts(client, mark):
    now = server_ms(client)
    mark.record_taken(now - 5_000)
    mark.record_taken(now - 9_000)
    assert mark.publish() == now - 5_000
    other = QueueProgress(client)
    assert other.publish() == now - 5_000
    other.record_taken(now - 7_000)
    assert other.publish() == now - 5_000
    other.record_taken(now - 3_000)
    other.publish()
    assert mark.publish() == now - 3_000
    assert 0 < client.pttl(QUEUE_PROGRESS) <= TTL_MS


def test_lost_time_is_reported_again(client, mark):
    mark.record_taken(server_ms(client) - 5_000)
    told = mark.publish()
    client.delete(QUEUE_PROGRESS)
    assert QueueProgress(client).publish() == 0, "one that has just begun knows nothing"
    assert mark.publish() == told
    assert QueueProgress(client).publish() == told


@pytest.mark.parametrize("value", [None, "soon", 1.5, -1, 2**53, 10**400, [1]])
def test_invalid_time_is_ignored(mark, value):
    mark.record_taken(value)
    assert mark.publish() == 0


def test_future_time_counts_as_now(client, mark):
    mark.record_taken(server_ms(client) + 10 * GRACE)
    assert mark.publish() <= server_ms(client)


def test_clock_set_back_is_followed(client, mark):
    mark.record_taken(server_ms(client))
    mark.publish()
    quiet(client, ms=-GRACE)
    assert QueueProgress(client).publish() <= server_ms(client)
    assert int(client.hget(QUEUE_PROGRESS, "taken_ms")) <= server_ms(client)


def test_clock_set_back_moves_the_time_once(client, mark):
    """Else everything would count as taken until the clock is where it was, and be sent again and again."""
    mark.record_taken(server_ms(client) + GRACE)
    told = mark.publish()
    until(lambda: server_ms(client) > told)
    assert mark.publish() == told
    mark.record_taken(told + 1)
    assert mark.publish() == told + 1


def test_first_probe_is_sent_without_any_progress(free):
    assert free.probe(grace_ms=GRACE) == 0
    assert free.probe(grace_ms=GRACE) > 0


def test_any_worker_may_probe_for_a_free_one(client, mark):
    assert mark.probe(grace_ms=GRACE) == GRACE
    mark.publish()
    assert mark.probe(grace_ms=GRACE) == GRACE
    QueueProgress(client).publish(is_free=True)
    client.hincrby(QUEUE_PROGRESS, "free_ms", -GRACE - 1)
    assert mark.probe(grace_ms=GRACE) == GRACE, "that was long ago"
    QueueProgress(client).publish(is_free=True)
    assert 0 < client.pttl(QUEUE_PROGRESS) <= TTL_MS
    assert mark.probe(grace_ms=GRACE) == 0


def test_no_probe_is_sent_while_workers_take_messages(client, free):
    mark = free
    mark.record_taken(server_ms(client) - 10 * GRACE)
    mark.publish()
    assert 0 < mark.probe(grace_ms=GRACE) <= GRACE
    quiet(client, ms=GRACE // 4)
    assert mark.probe(grace_ms=GRACE) == 0


def test_unanswered_probes_become_rare(client, free):
    mark = free
    assert mark.probe(grace_ms=GRACE) == 0
    for factor in (1, 2, 4, 8, 8, 8):
        quiet(client, ms=factor * GRACE - 5_000)
        assert 0 < mark.probe(grace_ms=GRACE) <= GRACE, f"before {factor} times the grace"
        quiet(client, ms=5_000)
        assert mark.probe(grace_ms=GRACE) == 0, f"after {factor} times the grace"


def test_consumed_probe_allows_the_next(client, free):
    mark = free
    for factor in (1, 2, 4):
        mark.probe(grace_ms=GRACE)
        quiet(client, ms=factor * GRACE)
    mark.probe(grace_ms=GRACE)
    mark.record_taken(server_ms(client))
    mark.publish()
    quiet(client, ms=GRACE // 4)
    assert mark.probe(grace_ms=GRACE) == 0
    quiet(client, ms=GRACE)
    assert mark.probe(grace_ms=GRACE) == 0, "counted from there again"


def test_waiting_for_a_new_probe_asks_soon(client, free):
    mark = free
    mark.probe(grace_ms=GRACE)
    assert mark.probe(grace_ms=GRACE) == GRACE // 10
    quiet(client, ms=GRACE // 2)
    assert GRACE // 2 <= mark.probe(grace_ms=GRACE) < GRACE


def test_probe_from_before_a_clock_change_is_dropped(client, free):
    mark = free
    mark.probe(grace_ms=GRACE)
    quiet(client, ms=-10 * GRACE)
    assert mark.probe(grace_ms=GRACE) == 0

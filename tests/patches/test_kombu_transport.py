"""Messages over Redis with one client a channel: as kombu's own, and with fewer clients."""

from __future__ import annotations

import threading
from collections.abc import Iterator
from contextlib import closing

import pytest
from kombu import Connection, Queue
from kombu.transport import memory as virtual_memory
from kombu.transport import redis as usual
from redis import Redis

from scaling import patient
from symposia.config.settings import load_settings
from symposia.patches.kombu_transport import (
    OneClientChannel,
    OneClientConnection,
    OneClientSentinelTransport,
    OneClientTransport,
)
from symposia.workers.worker_app import create_worker_app


@pytest.fixture
def connection(redis_url) -> Iterator[OneClientConnection]:
    with OneClientConnection(redis_url) as connection:
        yield connection


@pytest.fixture
def made(monkeypatch) -> list[Redis]:
    """The clients that channels make."""
    clients: list[Redis] = []

    class Counted(Redis):
        def __init__(self, **options: object) -> None:
            super().__init__(**options)  # type: ignore[arg-type]
            clients.append(self)

    monkeypatch.setattr(usual.redis, "Redis", Counted)
    return clients


def test_channel_uses_one_client_for_all_messages(connection, made):
    queue = connection.SimpleQueue("lean")
    before = len(made)
    for number in range(20):
        queue.put({"number": number})
    assert len(made) <= before + 1
    got = [queue.get(timeout=patient(5)) for _ in range(20)]
    assert [message.payload["number"] for message in got] == list(range(20))
    for message in got:
        message.ack()
    # What the event loop waits with and what it subscribes with are kombu's, one each.
    assert len(made) <= before + 3
    queue.close()


def test_channel_with_a_new_pool_gets_a_new_client(connection):
    channel = connection.channel()
    assert isinstance(channel, OneClientChannel)
    first = channel._create_client()
    assert channel._create_client() is first
    channel._disconnect_pools()
    second = channel._create_client()
    assert second is not first
    assert second.connection_pool is channel.pool
    assert second.ping()


def test_closed_channel_is_replaced_for_sending(connection):
    """As when a connection is lost while another thread, or an earlier error, has closed its channel."""
    producer = connection.Producer()
    closed = producer.channel
    closed.close()
    with pytest.raises(connection.recoverable_connection_errors):
        closed._create_client()
    lean = Queue("lean-closed")
    producer.publish(
        {"a": 1}, routing_key="lean-closed", declare=[lean], retry=True, retry_policy={"max_retries": 3}
    )
    with connection.clone() as another, closing(another.SimpleQueue("lean-closed")) as queue:
        assert queue.get(timeout=patient(5)).payload == {"a": 1}


def test_threads_may_share_the_client_of_a_channel(connection):
    channel = connection.channel()
    said: list[bool] = []

    def ask() -> None:
        with channel.conn_or_acquire() as client:
            said.extend(client.echo(str(n)) == str(n).encode() for n in range(200))

    threads = [threading.Thread(target=ask) for _ in range(8)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    assert said == [True] * 1_600


#: What kombu takes in the place of ours.
USUAL = {OneClientTransport: usual.Transport, OneClientSentinelTransport: usual.SentinelTransport}


@pytest.mark.parametrize(
    ("url", "kind"),
    [
        ("redis://127.0.0.1:1/0", OneClientTransport),
        ("rediss://127.0.0.1:1/0?ssl_cert_reqs=CERT_REQUIRED", OneClientTransport),
        ("redis+socket:///nowhere.sock", OneClientTransport),
        ("sentinel://127.0.0.1:1", OneClientSentinelTransport),
        ("memory://", virtual_memory.Transport),
    ],
)
def test_other_brokers_keep_kombus_transport(url, kind):
    ours, theirs = OneClientConnection(url), Connection(url)
    assert ours.get_transport_cls() is kind
    assert theirs.get_transport_cls() is USUAL.get(kind, kind)
    assert ours.as_uri() == theirs.as_uri()
    assert ours.info() == theirs.info()
    assert isinstance(ours.clone(), OneClientConnection)


def test_app_uses_the_patched_transport(redis_url, tmp_path):
    # kombu's pools are the process's, by URL: this one is nobody else's.
    app = create_worker_app(load_settings(redis_url=f"{redis_url.rpartition('/')[0]}/7", data_dir=tmp_path))
    for connection in (app.connection_for_read(), app.connection_for_write()):
        assert connection.get_transport_cls() is OneClientTransport
    with app.producer_or_acquire() as producer:
        assert isinstance(producer.channel, OneClientChannel)

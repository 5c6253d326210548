"""Celery settings: known names, and options of the broker in use."""

import pytest
from celery import Celery
from celery.app.defaults import NAMESPACES, flatten
from kombu import Connection

from symposia.config.celery import celery_settings
from symposia.config.settings import load_settings


def test_celery_knows_every_setting() -> None:
    known = {name for name, _ in flatten(NAMESPACES)}
    assert celery_settings(load_settings(), broker_url="redis://h").keys() <= known


def test_the_redis_transport_knows_every_option() -> None:
    from kombu.transport.redis import Channel

    options = celery_settings(load_settings(), broker_url="redis://h")["broker_transport_options"]
    assert options.keys() <= set(Channel.from_transport_options)


def test_the_sentinel_transport_knows_every_option() -> None:
    from kombu.transport.redis import SentinelChannel

    told = celery_settings(load_settings(), broker_url="redis+sentinel://:hunter2@a,b/main/1")
    options = told["broker_transport_options"]
    assert options.keys() <= set(SentinelChannel.from_transport_options)
    assert options["master_name"] == "main"
    connection = Connection(told["broker_url"], transport_options=options)
    assert (connection.transport_cls, connection.virtual_host, len(connection.alt)) == ("sentinel", "1", 2)
    assert "hunter2" not in connection.as_uri()


def test_turn_is_acknowledged_late_without_a_result() -> None:
    app = Celery(set_as_current=False)
    app.conf.update(celery_settings(load_settings(), broker_url="redis://h"))

    @app.task
    def turn() -> None: ...

    assert turn.acks_late
    assert turn.reject_on_worker_lost
    assert turn.ignore_result
    assert app.conf.result_backend is None
    assert app.conf.accept_content == ["json"]


@pytest.mark.parametrize("broker_url", ["amqp://guest:guest@localhost//", "memory://"])
def test_another_broker_is_given_no_redis_options(broker_url: str) -> None:
    told = celery_settings(load_settings(), broker_url=broker_url)
    assert told["broker_transport_options"] == {}
    assert Connection(told["broker_url"]).transport_cls in {"amqp", "memory"}


def test_worker_concurrency_follows_the_settings() -> None:
    told = celery_settings(load_settings(worker_concurrency=3), broker_url="redis://h")
    assert told["worker_concurrency"] == 3
    assert told["broker_pool_limit"] > 3

"""Prefix of keys: where it is in commands, what answers contain, and which prefixes and queue names are valid."""

from __future__ import annotations

import pytest

from symposia.config.celery import celery_settings
from symposia.config.settings import load_settings
from symposia.models.errors import InvalidInput
from symposia.models.text.redis_address import RedisAddress, split_key_prefix, with_key_prefix
from symposia.state.redis.connect import connect
from symposia.state.redis.key_prefix import add_prefix, remove_prefix


@pytest.mark.parametrize(
    ("command", "sent"),
    [
        ("GET a", "GET p:a"),
        ("DEL a b", "DEL p:a p:b"),
        ("EVALSHA sha 2 a b c", "EVALSHA sha 2 p:a p:b c"),
        ("XREAD COUNT 5 STREAMS a b 0 1", "XREAD COUNT 5 STREAMS p:a p:b 0 1"),
        ("SCAN 0 MATCH a* COUNT 5", "SCAN 0 MATCH p:a* COUNT 5"),
        ("SCAN 0", "SCAN 0 MATCH p:*"),
        ("COPY a b REPLACE", "COPY p:a p:b REPLACE"),
        ("INFO server", "INFO server"),
    ],
)
def test_prefix_is_before_each_key(command, sent):
    assert list(add_prefix("p:", command.split())) == sent.split()


def test_command_with_unknown_keys_is_refused():
    with pytest.raises(ValueError, match="'GEOADD': the keys of this command are not known"):
        add_prefix("p:", ("GEOADD", "a", 1, 2, "b"))


@pytest.mark.parametrize(
    ("name", "answer", "seen"),
    [
        ("XREAD", [["p:a", []]], [["a", []]]),
        ("XREAD", {"p:a": []}, {"a": []}),
        ("SCAN", (0, ["p:a"]), (0, ["a"])),
        ("GET", "p:a", "p:a"),
    ],
)
def test_answers_have_no_prefix(name, answer, seen):
    assert remove_prefix("p:", name, answer) == seen


def test_pipeline_watches_and_reads_with_the_prefix(redis_url):
    with connect(with_key_prefix(redis_url, "p:")) as client, client.pipeline() as pipeline:
        client.xadd("s", {"d": "1"}, id="1-0")
        pipeline.watch("s")
        pipeline.multi()
        pipeline.expire("s", 60)
        pipeline.xread({"s": "0"})
        assert pipeline.execute() == [True, [["s", [("1-0", {"d": "1"})]]]]
        assert list(client.scan_iter()) == ["s"]
    with connect(redis_url) as client:
        assert list(client.scan_iter()) == ["p:s"]


@pytest.mark.parametrize("url", ["redis://h/1", "redis+cluster://a,b", "redis://h/1?ssl_cert_reqs=none"])
def test_url_carries_the_prefix(url):
    assert split_key_prefix(with_key_prefix(url, "p:")) == (url, "p:")
    assert RedisAddress.parse(with_key_prefix(url, "p:")) == RedisAddress.parse(url)
    assert with_key_prefix(url, "") == url


def test_broker_and_queue_have_the_names():
    made = celery_settings(load_settings(queue="shop"), broker_url=with_key_prefix("redis://h/1", "p:"))
    assert made["task_default_queue"] == "shop"
    assert made["broker_url"] == "redis://h/1"
    assert made["broker_transport_options"]["global_keyprefix"] == "p:"


@pytest.mark.parametrize(
    ("name", "value"),
    [
        ("queue", ""),
        ("queue", "a b"),
        ("queue", "a:b"),
        ("queue", "x" * 61),
        ("key_prefix", "{a}"),
        ("key_prefix", "a*"),
    ],
)
def test_invalid_name_is_refused(name, value):
    with pytest.raises(InvalidInput, match=f"SYMPOSIA_{name.upper()}: "):
        load_settings(**{name: value})

"""Reading from a cursor on, in either protocol version."""

import pytest
from redis import Redis

from symposia.state.redis.readers import StreamReader, read_batches


@pytest.fixture
def streams(client):
    return StreamReader(client)


@pytest.fixture
def spoken(table):
    for i in range(7):
        table.speak(table.plan_one(), f"{i}")
        table.plan()
    return table


def contents(entries):
    return [text.split('"content":"')[1].split('"')[0] for _, text in entries]


def test_page_has_the_oldest_entries_after_the_cursor(spoken, streams):
    page = streams.page(spoken.id, "dialog", count=3)
    assert contents(page) == ["0", "1", "2"]
    assert contents(streams.page(spoken.id, "dialog", after=page[-1][0], count=3)) == ["3", "4", "5"]


def test_all_reads_page_by_page_and_nothing_twice(spoken, streams, monkeypatch):
    everything = list(streams.all(spoken.id, "events"))
    assert len(everything) == streams.length(spoken.id, "events") == len(spoken.events())
    for at, entry in enumerate(everything):
        assert list(streams.all(spoken.id, "events", after=entry[0])) == everything[at + 1 :]


def test_interrupted_reader_resumes_where_it_stopped(spoken, streams):
    entries = streams.all(spoken.id, "dialog")
    cursor = [next(entries)[0] for _ in range(3)][-1]
    spoken.speak(spoken.plan_one(), "7")
    assert contents(streams.all(spoken.id, "dialog", after=cursor)) == ["3", "4", "5", "6", "7"]


def test_unwritten_stream_is_empty(table, streams):
    assert list(streams.all(table.id, "dialog")) == []
    assert streams.length(table.id, "dialog") == 0


@pytest.mark.parametrize("protocol", [2, 3])
def test_both_protocol_versions_read_alike(spoken, redis_url, protocol):
    with Redis.from_url(redis_url, decode_responses=True, protocol=protocol) as client:
        keys = {spoken.key("dialog"): "0", spoken.key("events"): "0"}
        batches = read_batches(client.xread(keys))
        assert set(batches) == set(keys)
        assert contents(batches[spoken.key("dialog")]) == [str(i) for i in range(7)]
        assert read_batches(client.xread({spoken.key("dialog"): "$"}, block=1)) == {}
        again = type(spoken)(client)
        again.speak(again.plan_one(), "hello")
        assert again.state().closed == 1

"""Following a session: every entry once, as it is written, until the end."""

import asyncio
import json
import threading
from concurrent.futures import ThreadPoolExecutor

import pytest

from scaling import patient
from sessions.table import Table, until
from symposia.models.errors import ResultTimeout, SessionNotFound
from symposia.models.sessions.plan import Finish
from symposia.models.text.ids import new_id
from symposia.state import following as follow_module
from symposia.state.following import END_ONLY, afollow, follow
from symposia.state.streams.hub import StreamHubs

#: A reader that waits for as long is ended by the time limit of its test.
NEVER_MS = 3_600_000


def texts(entries):
    return [json.loads(text).get("content") for _, text in entries]


def kinds(entries):
    return [json.loads(text)["event_type"] for _, text in entries]


def speak(table, *words):
    for word in words:
        table.speak(table.plan_one(), word)


@pytest.fixture(params=["blocking", "asyncio"])
def read_all(request, client, redis_url):
    """Both readers, as one function that reads to the end."""

    def blocking(session_id, stream, **more):
        return list(follow(client, session_id, stream, **more))

    def in_a_loop(session_id, stream, **more):
        async def read():
            async with StreamHubs().reader(redis_url) as reader:
                return [entry async for entry in afollow(reader, session_id, stream, **more)]

        return asyncio.run(read())

    return blocking if request.param == "blocking" else in_a_loop


def test_follower_ends_with_the_session(table, read_all):
    speak(table, "before")
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read_all, table.id, "dialog")
        for i in range(20):
            speak(table, f"{i}")
        assert not reading.done()
        table.finish()
        assert texts(reading.result(patient(10))) == ["before", *(f"{i}" for i in range(20))]


def test_message_arrives_before_the_next_is_written(client, table):
    entries = follow(client, table.id, "dialog")
    for word in ("one", "two", "three"):
        writer = threading.Timer(0.01, speak, (table, word))
        writer.start()
        assert texts([next(entries)]) == [word]
        writer.join()
    table.finish()
    assert list(entries) == []


def test_follower_gets_all_events(table, read_all):
    speak(table, "hello")
    table.finish()
    followed = kinds(read_all(table.id, "events"))
    assert followed == table.kinds()
    assert followed[-1] == "MAPSessionCompleted"


def test_journal_can_be_followed(table, read_all):
    table.suspend()
    table.cancel()
    assert kinds(read_all(table.id, "journal"))[-1] == "session.cancelled"


@pytest.mark.parametrize("stream", ["dialog", "events", "journal"])
def test_interrupted_reader_sees_nothing_twice(table, read_all, stream, monkeypatch):
    monkeypatch.setattr(follow_module, "BLOCK_MS", NEVER_MS)
    speak(table, "one", "two")
    table.suspend()
    table.cancel()
    everything = read_all(table.id, stream)
    for at, (cursor, _) in enumerate(everything):
        assert read_all(table.id, stream, after=cursor) == everything[at + 1 :]


def test_long_streams_are_read_page_by_page(table, read_all, monkeypatch):
    for page in (1, 2, 3, 4):
        monkeypatch.setattr(follow_module, "PAGE", page)
        if page == 1:
            speak(table, *map(str, range(6)))
            table.finish()
        assert texts(read_all(table.id, "dialog")) == [str(i) for i in range(6)]
        assert kinds(read_all(table.id, "events")) == table.kinds()


def test_waiting_for_the_end_alone_reads_little(table, read_all):
    speak(table, "one", "two")
    table.finish()
    assert read_all(table.id, "events", after=END_ONLY) == []


def test_waiting_for_the_end_ends_with_the_end(table, read_all):
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read_all, table.id, "events", after=END_ONLY)
        speak(table, "one")
        until(lambda: table.client.info("clients")["blocked_clients"] or reading.done())
        assert not reading.done()
        table.finish()
        assert kinds(reading.result(patient(10)))[-1] == "MAPSessionCompleted"


def test_unknown_session_is_not_found_at_once(client, read_all, monkeypatch):
    monkeypatch.setattr(follow_module, "BLOCK_MS", NEVER_MS)
    with pytest.raises(SessionNotFound):
        read_all(new_id(), "dialog")


def test_a_session_that_expires_meanwhile_is_not_found(table, read_all, monkeypatch):
    monkeypatch.setattr(follow_module, "BLOCK_MS", 20)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read_all, table.id, "dialog")
        until(lambda: table.client.info("clients")["blocked_clients"])
        table.client.flushall()
        with pytest.raises(SessionNotFound, match=table.id):
            reading.result(patient(10))


def test_follow_timeout_does_not_end_the_session(client, table, monkeypatch):
    monkeypatch.setattr(follow_module, "BLOCK_MS", NEVER_MS)
    speak(table, "one")
    entries = []
    with pytest.raises(ResultTimeout, match=r"within 0\.05 s"):
        entries.extend(follow(client, table.id, "dialog", timeout_s=0.05))
    assert table.state().status == "active"


def test_a_busy_session_times_out_too(client, table):
    stop = threading.Event()

    def chatter():
        while not stop.is_set():
            speak(table, "more")

    with ThreadPoolExecutor(1) as pool:
        pool.submit(chatter)
        try:
            with pytest.raises(ResultTimeout):
                list(follow(client, table.id, "events", timeout_s=0.1))
        finally:
            stop.set()


def test_zero_timeout_suffices_for_an_ended_session(client, table):
    speak(table, "one")
    table.finish()
    assert texts(follow(client, table.id, "dialog", timeout_s=0)) == ["one"]


def test_message_text_cannot_end_the_stream(client):
    table = Table(client, opened=False)
    table.collab = table.collab.changed(
        title="MAPSessionCompleted", purpose='"event_type":"MAPSessionCompleted"'
    )
    table.open()
    table.plan_one(broadcast=True)
    table.plan(announce="")
    with pytest.raises(ResultTimeout):
        list(follow(client, table.id, "events", timeout_s=0.02))


@pytest.mark.parametrize("_", range(5))
def test_entries_written_with_the_end_are_followed(table, read_all, _):
    grant = table.grant(table.plan_one())
    ending = table.write(Finish(reason="satisfied"), after=grant.number)
    with ThreadPoolExecutor(1) as pool:
        reading = pool.submit(read_all, table.id, "dialog")
        until(lambda: table.client.info("clients")["blocked_clients"] or reading.done())
        table.commit(grant, "a", "b", then=ending)
        assert texts(reading.result(patient(10))) == ["a", "b"]

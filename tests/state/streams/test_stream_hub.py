"""Asynchronous readers that share one XREAD read what a blocking reader reads, and cost no connection each."""

from __future__ import annotations

import asyncio
import json
import threading
from random import Random

import pytest

from scaling import patient
from sessions.table import Table
from symposia.errors import ClientClosed, SessionNotFound
from symposia.models.protocol.dialog import Message
from symposia.models.text.ids import new_id
from symposia.models.turns.streaming import Delta, Drafts
from symposia.state.following import afollow
from symposia.state.streams import hub as hub_module
from symposia.state.streams.hub import StreamHubs
from symposia.state.streams.pieces import astream_pieces, stream_pieces


async def nothing() -> None:
    pass


@pytest.fixture
def url(redis_url: str) -> str:
    """The server, with a client name by which its connections are counted."""
    return f"{redis_url}?client_name=hub-{new_id()}"


def connections(table: Table, url: str) -> int:
    name = url.partition("client_name=")[2]
    return sum(entry["name"] == name for entry in table.client.client_list())


async def condition(check) -> None:
    async with asyncio.timeout(patient(30)):
        while not check():  # noqa: ASYNC110 - the server is asked
            await asyncio.sleep(0.005)


def write_delta(table: Table, grant, text: str, offset: int) -> None:
    delta = Delta(
        turn_number=grant.number,
        participant_id="ann",
        attempt=1,
        token_id=grant.token,
        offset=offset,
        text=text,
    )
    table.client.xadd(table.key("deltas"), {"d": delta.model_dump_json()})
    table.client.pexpire(table.key("deltas"), 60_000)


def act(table: Table, random: Random) -> None:
    """One turn: it writes output, and then some messages, none, or fails once before."""
    number = table.plan_one()
    grant = table.grant(number)
    for at in range(random.randrange(3)):
        write_delta(table, grant, "word ", at * 5)
    if random.random() < 0.3:
        table.fail(grant)
        grant = table.grant(number)
    table.commit(grant, *(f"{number}.{at}" for at in range(random.randrange(3))))


async def pieces_of(url: str, session_id: str, hubs: StreamHubs | None = None, **more):
    async with (hubs or StreamHubs()).reader(url) as reader:
        return [piece async for piece in astream_pieces(reader, session_id, waiting=nothing, **more)]


def messages_of(pieces) -> list[tuple[str | None, str]]:
    return [(piece.entry_id, piece.content) for piece in pieces if isinstance(piece, Message)]


def drafts_of(pieces) -> dict[int, str]:
    drafts = Drafts()
    for piece in pieces:
        if isinstance(piece, Message):
            drafts.remove(piece.turn_number)
        else:
            drafts.add(piece)
    return {draft.turn_number: draft.text for draft in drafts}


@pytest.mark.parametrize("seed", range(8))
def test_async_stream_equals_the_blocking_one(table, url, seed):
    random = Random(seed)

    async def main() -> None:
        live = asyncio.create_task(pieces_of(url, table.id))
        for _ in range(random.randrange(1, 8)):
            await asyncio.to_thread(act, table, random)
        table.finish()
        followed, past = await live, await pieces_of(url, table.id)
        blocking = list(stream_pieces(table.client, table.id))
        assert past == blocking
        assert messages_of(followed) == messages_of(blocking)
        assert [content for _, content in messages_of(blocking)] == table.texts()
        assert drafts_of(followed) == {}
        for at, (entry_id, _) in enumerate(messages_of(blocking)):
            rest = messages_of(blocking)[at + 1 :]
            assert messages_of(stream_pieces(table.client, table.id, after=entry_id)) == rest
            assert messages_of(await pieces_of(url, table.id, after=entry_id)) == rest

    asyncio.run(main())


def test_output_of_a_running_turn_comes_again_after_a_message(table, url):
    table.speak(table.plan_one(), "one")
    grant = table.grant(table.plan_one())
    write_delta(table, grant, "he", 0)
    write_delta(table, grant, "llo", 2)
    after, _ = next(iter(table.client.xrange(table.key("dialog"))))

    async def main() -> list[str]:
        async with StreamHubs().reader(url) as reader:
            pieces = astream_pieces(reader, table.id, after=after, waiting=nothing)
            texts = [(await anext(pieces)).text for _ in range(2)]
            await pieces.aclose()
            return texts

    assert asyncio.run(main()) == ["he", "llo"]


def test_many_readers_have_two_connections_and_no_thread(client, url):
    tables = [Table(client) for _ in range(5)]
    threads = threading.active_count()

    async def main() -> None:
        hubs = StreamHubs()
        readers = [asyncio.create_task(pieces_of(url, table.id, hubs)) for _ in range(40) for table in tables]
        await condition(lambda: connections(tables[0], url) == 2)
        for table in tables:
            table.speak(table.plan_one(), "hello")
            table.finish()
        assert connections(tables[0], url) <= 2
        assert threading.active_count() <= threads  # those of earlier tests may end meanwhile
        for pieces in await asyncio.gather(*readers):
            assert [content for _, content in messages_of(pieces)] == ["hello"]
        assert connections(tables[0], url) == 0
        assert asyncio.all_tasks() == {asyncio.current_task()}

    asyncio.run(main())


def test_slow_reader_loses_nothing(table, url, monkeypatch):
    monkeypatch.setattr(hub_module, "MAX_WAITING", 3)
    table.speak(table.plan_one(), "first")

    async def main() -> list[str]:
        async with StreamHubs().reader(url) as reader:
            entries = afollow(reader, table.id, "dialog")
            texts = [json.loads((await anext(entries))[1])["content"]]
            for number in range(30):
                await asyncio.to_thread(lambda number=number: table.speak(table.plan_one(), str(number)))
            table.finish()
            return texts + [json.loads(text)["content"] async for _, text in entries]

    assert asyncio.run(main()) == ["first", *map(str, range(30))]


def test_reader_continues_after_a_lost_connection(table, url):
    async def main() -> None:
        live = asyncio.create_task(pieces_of(url, table.id))
        for number in range(5):
            await condition(lambda: connections(table, url) or live.done())
            name = url.partition("client_name=")[2]
            for entry in table.client.client_list():
                if entry["name"] == name:
                    table.client.client_kill_filter(_id=entry["id"])
            table.speak(table.plan_one(), str(number))
        table.finish()
        assert [content for _, content in messages_of(await live)] == list("01234")

    asyncio.run(main())


@pytest.mark.parametrize("end", ["close", "cancel"])
def test_ended_readers_leave_neither_task_nor_connection(table, url, end):
    async def main() -> None:
        hubs = StreamHubs()
        readers = [asyncio.create_task(pieces_of(url, table.id, hubs)) for _ in range(3)]
        await condition(lambda: connections(table, url) == 2)
        if end == "close":
            await hubs.close()
        else:
            for reader in readers:
                reader.cancel()
        results = await asyncio.gather(*readers, return_exceptions=True)
        expected = ClientClosed if end == "close" else asyncio.CancelledError
        assert {type(result) for result in results} == {expected}
        assert asyncio.all_tasks() == {asyncio.current_task()}
        await condition(lambda: connections(table, url) == 0)

    asyncio.run(main())


def test_expired_session_is_not_found(table, url):
    async def main() -> None:
        with pytest.raises(SessionNotFound):
            await pieces_of(url, new_id())

    asyncio.run(main())

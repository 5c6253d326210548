"""Reads that requests of the same time share: few reads, and none that began before the request."""

from __future__ import annotations

import asyncio

from symposia.dashboard.live.load_limits import SharedReads


class Source:
    """A text that changes, and the number of its reads."""

    def __init__(self) -> None:
        self.text = "old"
        self.reads = 0

    async def read(self) -> str:
        self.reads += 1
        text = self.text
        await asyncio.sleep(0)
        return text


def test_request_after_a_change_shows_the_change():
    async def run() -> None:
        source, reads = Source(), SharedReads()
        assert await reads.read("a", source.read) == "old"
        source.text = "new"
        assert await reads.read("a", source.read) == "new"
        early = asyncio.ensure_future(reads.read("a", source.read))
        await asyncio.sleep(0)
        source.text = "newest"
        assert await reads.read("a", source.read) == "newest"
        assert await early == "newest"

    asyncio.run(run())


def test_requests_of_the_same_time_share_one_read():
    async def run() -> None:
        source, reads = Source(), SharedReads()
        for expected in (1, 2):
            assert await asyncio.gather(*(reads.read("a", source.read) for _ in range(20))) == ["old"] * 20
            assert source.reads == expected
        await reads.read("b", source.read)
        assert source.reads == 3

    asyncio.run(run())


def test_cancelled_request_leaves_the_read_to_the_others():
    async def run() -> None:
        source, reads = Source(), SharedReads()
        await reads.read("a", source.read)
        first, second = (asyncio.ensure_future(reads.read("a", source.read)) for _ in range(2))
        await asyncio.sleep(0)
        first.cancel()
        assert await second == "old"
        assert first.cancelled()

    asyncio.run(run())


def test_every_request_gets_the_error_of_its_read():
    async def run() -> None:
        async def fail() -> str:
            raise ConnectionError("no answer")

        reads = SharedReads()
        found = await asyncio.gather(*(reads.read("a", fail) for _ in range(3)), return_exceptions=True)
        assert [str(it) for it in found] == ["no answer"] * 3
        source = Source()
        assert await reads.read("a", source.read) == "old"

    asyncio.run(run())

"""Memory of the sessions whose pages are open."""

from __future__ import annotations

import asyncio

import pytest

from sessions.submitted import submit_two
from symposia.client import Client
from symposia.client.aio.client import AsyncClient
from symposia.config.settings import load_settings
from symposia.dashboard.live import open_session
from symposia.dashboard.live.open_session import OpenSessions
from symposia.dashboard.live.session_streams import SessionStreams
from symposia.state.redis.connect import aconnect


@pytest.mark.leaves_keys
@pytest.mark.parametrize("in_use_s", [0, 60])
def test_memory_is_bounded_by_bytes(client: Client, settings, monkeypatch, in_use_s):
    monkeypatch.setattr(open_session, "MAX_MESSAGE_BYTES", 25_000)
    monkeypatch.setattr(open_session, "MAX_OPEN_BYTES", 60_000)
    monkeypatch.setattr(open_session, "IN_USE_S", in_use_s)
    jobs = [
        submit_two(client, "Long", messages=[f"{number} {'x' * 10_000}" for number in range(5)])
        for _ in "abcd"
    ]
    for job in jobs:
        job.cancel()

    async def open_all() -> None:
        async with AsyncClient(load_settings(**settings)) as reader, aconnect(client.redis_url) as redis:
            sessions = OpenSessions(reader, SessionStreams(redis))
            opened = [await sessions.get(job.id) for job in jobs]
            for session in opened:
                assert [message.content[:2] for _, message in session.messages] == ["3 ", "4 "]
                assert session.has_earlier
            # The third one took the place of the first, unless that has a page; it is read again when its page asks.
            assert await sessions.get(jobs[3].id) is opened[3]
            assert (await sessions.get(jobs[0].id) is opened[0]) is (in_use_s > 0)

    asyncio.run(open_all())

"""An `AsyncClient` belongs to no event loop: views under ASGI, and `async_to_sync`, use one of many loops."""

from __future__ import annotations

import asyncio
import threading

import pytest

from scaling import patient
from symposia import AsyncClient
from symposia.config.settings import load_settings

pytestmark = pytest.mark.leaves_keys  # those of sessions that the archive does not have yet

PAIR = {"title": "t", "purpose": "p", "mode": "pair", "participants": [{"participant_id": n} for n in "ab"]}


def test_client_and_job_of_one_loop_work_in_others(redis_url, tmp_path):
    client = AsyncClient(
        load_settings(redis_url=redis_url, data_dir=tmp_path, archive=True), worker_grace_s=60
    )

    async def submit():
        return await client.submit(PAIR, agents={"a": "noop", "b": "noop"}, messages=["Hello"])

    async def read(job):
        return [message.content async for message in job.messages(follow=True)]

    job = asyncio.run(submit())
    asyncio.run(job.cancel())
    shown = []
    threads = [threading.Thread(target=lambda: shown.append(asyncio.run(read(job)))) for _ in range(3)]
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join(patient(60))
    assert shown == [["Hello"]] * 3
    asyncio.run(client.close())

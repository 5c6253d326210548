"""Sessions of an `AsyncClient` run on real workers, and several are followed at the same time."""

from __future__ import annotations

import asyncio

from live import result_of
from scaling import patient
from symposia import AsyncClient, AsyncCollabJob, Client, JobResult, Message

TABLE = {"title": "t", "purpose": "p", "mode": "round_robin"}
AGENTS = {"ann": "say", "bob": "say"}


def test_sessions_are_followed_concurrently(shared):
    async def one(client: AsyncClient) -> tuple[list[str], list[str], JobResult]:
        job = await client.submit(
            {**TABLE, "participants": [{"participant_id": name} for name in AGENTS]},
            agents=AGENTS,
            stop={"max_turns": 4},
            parameters={"log": str(shared.folder / "calls.jsonl")},
        )
        return await asyncio.gather(said(job), streamed(job), job.result(timeout=patient(50)))

    async def main() -> list[tuple[list[str], list[str], JobResult]]:
        async with AsyncClient(shared.client.settings, max_threads=2) as client:
            return await asyncio.gather(*(one(client) for _ in range(3)))

    with Client(shared.client.settings) as client:
        for messages, pieces, result in asyncio.run(main()):
            job = client.get_job(result.collab.collab_id[:13])
            assert result == result_of(job)
            assert messages == pieces == [it.content for it in job.messages()]
            assert (result.collab.status, result.turns) == ("completed", 4)


async def said(job: AsyncCollabJob) -> list[str]:
    return [message.content async for message in job.messages(follow=True)]


async def streamed(job: AsyncCollabJob) -> list[str]:
    return [piece.content async for piece in job.stream() if isinstance(piece, Message)]

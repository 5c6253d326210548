"""How late programs that follow sessions see a message."""

from __future__ import annotations

import asyncio
import threading
import time
from collections.abc import Iterator

from harness.errors import BenchmarkError
from harness.loads import REPEATING, Load, Values, agents_of, bare_gaps_ms, build_collab, submit
from harness.registry import Bench, case
from harness.results import Measure, percentile
from harness.stage import Place

from symposia import AsyncClient, MaxTurns, Message
from symposia.client.aio.jobs import AsyncCollabJob
from symposia.state.redis.keys import session_key

#: Viewers of each session.
VIEWERS = 25
#: Maximum number of sessions that are followed.
MAX_SESSIONS = 20
#: Seconds in which the viewers connect.
CONNECT_S = 3


@case("follow")
def follow(bench: Bench) -> Iterator[Measure]:
    """Time from the commit of a message until a follower has it, next to the time between two bare tasks."""
    place, turns = bench.use(), bench.sizes.alone

    def bare() -> Values:
        gaps = bare_gaps_ms(place, turns)
        return {"p50": percentile(gaps, 50), "p95": percentile(gaps, 95)}

    yield from bench.alternate("message", lambda: follow_once(place, turns), bare)


def follow_once(place: Place, turns: int) -> Values:
    """Follow a session; return the delays of its messages.

    The server writes the time of the commit into the id of the entry, in whole milliseconds. So a delay is up to one
    millisecond too long.

    Raises:
        BenchmarkError: The follower saw another number of messages.
    """
    (job,) = submit(place, Load("round_robin", 1, turns, agents_of("round_robin", agent="paced")))
    seen: list[float] = []

    def read() -> None:
        for _ in job.messages(follow=True):
            seen.append(time.time() * 1_000)  # noqa: PERF401 - each at its own time

    follower = threading.Thread(target=read)
    follower.start()
    follower.join()
    entries = place.redis.xrange(session_key(job.id, "dialog"))
    written = [int(entry_id.partition("-")[0]) for entry_id, _ in entries]
    if len(seen) != len(written) or len(seen) != turns:
        raise BenchmarkError(f"the follower saw {len(seen)} of {turns} messages")
    delays = [max(at - commit, 0.0) for at, commit in zip(seen, written, strict=True)]
    late = delays[len(delays) // 10 :]  # the first ones were written before the follower was connected
    return {"p50": percentile(late, 50), "p95": percentile(late, 95)}


@case("viewers")
def viewers(bench: Bench) -> Iterator[Measure]:
    """Time from the commit of a message until each viewer of an `AsyncClient` has it, next to two bare tasks."""
    place, sessions = bench.use(), min(bench.sizes.sessions, MAX_SESSIONS)
    turns = bench.sizes.turns

    def bare() -> Values:
        gaps = bare_gaps_ms(place, bench.sizes.alone)
        return {"p50": percentile(gaps, 50), "p95": percentile(gaps, 95)}

    yield from bench.alternate("message", lambda: asyncio.run(view_once(place, sessions, turns)), bare)


async def view_once(place: Place, sessions: int, turns: int) -> Values:
    """Follow sessions with many viewers in this process; return the delays of the messages.

    The sessions are drafts until the viewers are connected. Each agent takes a second, so that the workers leave the
    processor to the viewers.

    Raises:
        BenchmarkError: A viewer saw another number of messages.
    """
    agents = agents_of("round_robin", agent="slow")
    async with AsyncClient(place.settings) as client:
        jobs = await client.submit_many(
            {
                "collab": build_collab("round_robin", agents),
                "agents": agents,
                "stop": MaxTurns(turns),
                "options": dict(REPEATING),
                "parameters": {"wait_s": 1},
                "draft": True,
            }
            for _ in range(sessions)
        )
        views = [asyncio.create_task(view(job)) for job in jobs for _ in range(VIEWERS)]
        await asyncio.sleep(CONNECT_S)
        for job in jobs:
            await job.activate()
        late = [delay for delays in await asyncio.gather(*views) for delay in delays]
    if len(late) != sessions * VIEWERS * turns:
        raise BenchmarkError(f"the viewers saw {len(late)} of {sessions * VIEWERS * turns} messages")
    return {"p50": percentile(late, 50), "p95": percentile(late, 95)}


async def view(job: AsyncCollabJob) -> list[float]:
    """Return the delays of a session's messages in milliseconds."""
    delays = []
    async for piece in job.stream():
        if isinstance(piece, Message) and piece.entry_id is not None:
            late = time.time() * 1_000 - int(piece.entry_id.partition("-")[0])
            delays.append(max(late, 0.0))
    return delays

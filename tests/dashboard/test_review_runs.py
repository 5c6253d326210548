"""Runs in memory: one reading of a review at a time, and different reviews at the same time."""

from __future__ import annotations

import asyncio
from collections import Counter
from types import SimpleNamespace

from review_tools.values import a_run
from symposia.dashboard.review_runs import ReviewRuns
from symposia.models.errors import ReviewNotFound
from symposia.reviews.values.runs import TrendPoint


class SlowArchive:
    """A client whose reading of a run ends when its event is set."""

    def __init__(self, *slow: str) -> None:
        self.readings: Counter[str] = Counter()
        self.gates = {it: asyncio.Event() for it in slow}
        self.began = asyncio.Semaphore(0)

    async def get_review(self, review_id: str):
        async def progress():
            raise ReviewNotFound(review_id)

        async def run():
            self.readings[review_id] += 1
            self.began.release()
            if review_id in self.gates:
                await self.gates[review_id].wait()
            return a_run().model_copy(update={"id": review_id})

        return SimpleNamespace(progress=progress, run=run)

    async def review_trend(self, *_args, **_options):
        return [
            TrendPoint(state, "shop", "code", "", "", state, 0, {}, 0, 0, 0)
            for state in ("completed", "partial", "cancelled", "failed")
        ]


def test_a_slow_review_delays_no_other():
    asyncio.run(read_beside_a_slow_one())


async def read_beside_a_slow_one() -> None:
    archive = SlowArchive("slow")
    runs = ReviewRuns(archive)
    waiting = [asyncio.create_task(runs.read("slow")) for _ in range(3)]
    await archive.began.acquire()
    quick, _ = await runs.read("quick")
    assert quick.run.id == "quick"
    assert (quick.before.run_id, len(quick.trend)) == ("partial", 4)
    assert not any(it.done() for it in waiting)
    archive.gates["slow"].set()
    assert {found.run.id for found, _ in await asyncio.gather(*waiting)} == {"slow"}
    assert archive.readings == {"slow": 1, "quick": 1}


def test_few_runs_are_read_at_the_same_time_and_kept():
    asyncio.run(read_nine())


async def read_nine() -> None:
    names = [f"r{number}" for number in range(9)]
    archive = SlowArchive(*names)
    runs = ReviewRuns(archive)
    waiting = [asyncio.create_task(runs.read(it)) for it in names]
    for _ in range(4):
        await archive.began.acquire()
    for _ in range(20):  # further readings would begin now
        await asyncio.sleep(0)
    assert len(archive.readings) == 4
    for gate in archive.gates.values():
        gate.set()
    await asyncio.gather(*waiting)
    before = archive.readings.total()
    for name in names[-4:]:
        await runs.read(name)
    assert archive.readings.total() == before
    await runs.read(names[0])
    assert archive.readings.total() == before + 1

"""Processor time and memory of Flower while 12 tabs are open for minutes, for benchmarks/dashboard.py."""

from __future__ import annotations

import asyncio
import os
import statistics
import time
from collections.abc import Callable, Sequence
from dataclasses import dataclass
from random import Random

import psutil
from dashboard_clients import FOLLOWED, Tab
from dashboard_pages import cpu_s

#: Seconds between two samples, and minutes after which memory should no longer grow.
SAMPLE_S, SETTLED_MIN = 10.0, 10.0


@dataclass(frozen=True)
class Sample:
    """Flower at one moment: minutes since the tabs are open, cores since the sample before, MiB, load of the machine."""

    at_min: float
    cores: float
    rss_mib: float
    load: float


async def watch(
    flower: psutil.Process, port: int, minutes: float, running: Callable[[], Sequence[str]]
) -> list[Sample]:
    """Keep 12 tabs open; print and return samples.

    Args:
        flower: The process.
        port: Its port.
        minutes: How long.
        running: Returns the ids of sessions that run.
    """
    random = Random(3)  # noqa: S311 - the same choices in each run
    tabs = [Tab(path, lambda: random.choice(running())) for path in FOLLOWED]
    readers = [asyncio.create_task(tab.run(port)) for tab in tabs]
    samples: list[Sample] = []
    began, spent = time.monotonic(), cpu_s(flower.pid)
    at = began
    while time.monotonic() < began + minutes * 60:
        await asyncio.sleep(SAMPLE_S)
        now, cpu = time.monotonic(), cpu_s(flower.pid)
        rss = flower.memory_info().rss / 2**20
        samples.append(Sample((now - began) / 60, (cpu - spent) / (now - at), rss, os.getloadavg()[0]))
        at, spent = now, cpu
        if len(samples) % 6 == 0:
            _print(samples[-6:], tabs)
        for reader in readers:
            if reader.done():
                reader.result()
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    return samples


def _print(samples: Sequence[Sample], tabs: Sequence[Tab]) -> None:
    last = samples[-1]
    print(
        f"  {last.at_min:4.1f} min  {statistics.mean(sample.cores for sample in samples):.2f} cores  "
        f"{last.rss_mib:6.1f} MiB  {sum(tab.events for tab in tabs)} events  "
        f"{sum(tab.received for tab in tabs) / 2**20:.1f} MiB sent  load {last.load:.1f}",
        flush=True,
    )


def growth_mib(samples: Sequence[Sample]) -> float:
    """Return the MiB that memory grew in an hour, by the line through the samples after `SETTLED_MIN`."""
    settled = [sample for sample in samples if sample.at_min >= SETTLED_MIN] or samples
    if len(settled) < 2:
        return 0.0
    line = statistics.linear_regression(
        [sample.at_min / 60 for sample in settled], [sample.rss_mib for sample in settled]
    )
    return line.slope

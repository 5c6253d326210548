"""How late the pages of many browsers see changes, for benchmarks/dashboard.py, and what Flower needs for them."""

from __future__ import annotations

import argparse
import asyncio
import os
import secrets
import statistics
import time
from collections.abc import Sequence
from dataclasses import dataclass

import psutil
from dashboard_clients import LATEST_S, POLL_S, ListPage, Page, SessionPage, Visitor
from redis import Redis

from symposia.jobs.collab import CollabJob
from symposia.models.protocol.dialog import Role, build_turn_message
from symposia.models.text.ids import new_id, utcnow
from symposia.state.redis.keys import session_key

#: Changes per second.
RATE = 10
#: Tabs of a browser with many tabs.
TABS = 12
#: Maximum share of a core that Flower should use.
MAX_CORES = 0.5
#: Maximum delay of a stream of a session, in milliseconds (95th percentile).
MAX_DELAY_MS = 100
#: The same of the list, whose pages get fragments at most four times a second.
MAX_LIST_DELAY_MS = 1_000
MARKDOWN = """## A finding

Some *text* with **words**, `code` and a [link](https://example.org/page).

1. First point
2. Second point, with details
   - nested once
   - nested twice

| name | value |
|---|---|
| one | 1 |
| two | 2 |

```python
def find(name: str) -> int:
    return len(name) + 1
```
"""


@dataclass
class Load:
    """All pages that are open during a measurement."""

    #: Pages of browsers with one tab each.
    clients: list[ListPage]
    #: Tabs of browsers with `TABS` tabs each: three have a stream, the others poll.
    tabs: list[ListPage]
    sessions: list[SessionPage]
    visitors: list[Visitor]

    @classmethod
    def of(cls, options: argparse.Namespace, jobs: list[CollabJob]) -> Load:
        browsers = [secrets.token_urlsafe(8) for _ in range(options.browsers)]
        watched = jobs[-options.sessions :] if options.sessions else []
        return cls(
            [ListPage() for _ in range(options.clients)],
            [ListPage(browser) for browser in browsers for _ in range(TABS)],
            [SessionPage(session_id=job.id) for job in watched],
            [Visitor(job.id) for job in watched[:2]],
        )

    def pages(self) -> list[Page]:
        return [*self.clients, *self.tabs, *self.sessions]


async def measure_updates(
    flower: psutil.Process, port: int, jobs: list[CollabJob], options: argparse.Namespace
) -> None:
    load, redis = Load.of(options, jobs), jobs[0]._connections.store.client
    readers = [asyncio.create_task(client.run(port)) for client in (*load.pages(), *load.visitors)]
    await wait_until_open(load, readers)
    for page in load.pages():
        page.start_counting()
    changed = jobs[: min(len(jobs) - len(load.sessions), RATE * options.seconds)]
    began, cpu, written = time.perf_counter(), flower.cpu_times(), 0
    for number, job in enumerate(changed):
        await asyncio.sleep(max(0.0, began + number / RATE - time.perf_counter()))
        await asyncio.to_thread(job.suspend)
        if number % RATE == 0:
            written += 1
            for page in load.sessions:
                await asyncio.to_thread(write_message, redis, page.session_id, written)
    spent, took = flower.cpu_times(), time.perf_counter() - began
    await wait_for_pages(load, len(changed), written)
    ended = [task for task in readers if task.done()]
    for reader in readers:
        reader.cancel()
    await asyncio.gather(*readers, return_exceptions=True)
    for ended_task in ended:
        ended_task.result()
    streams = [client for client in (*load.clients, *load.tabs) if not client.polls]
    polling = [tab for tab in load.tabs if tab.polls]
    assert len(polling) == max(0, TABS - 3) * options.browsers, len(polling)
    print(f"{len(changed) / took:.1f} changes a second, a message a second in {len(load.sessions)} sessions:")
    report_pages("streams of the list", streams, len(changed), most_p95_ms=MAX_LIST_DELAY_MS)
    report_pages(
        "polling pages of the list", polling, len(changed), most_p95_ms=POLL_S * 1000 + MAX_LIST_DELAY_MS
    )
    report_pages("streams of a session", load.sessions, written, most_p95_ms=MAX_DELAY_MS)
    report_times(
        "page of a session with its data", [ms for visitor in load.visitors for ms in visitor.took_ms]
    )
    busy = (spent.user + spent.system - cpu.user - cpu.system) / took
    print(
        f"Flower used {busy:.2f} cores{within(busy, MAX_CORES)} and {flower.memory_info().rss / 2**20:.0f} MiB "
        f"({os.cpu_count()} cores, load {os.getloadavg()[0]:.1f})"
    )


async def wait_until_open(load: Load, readers: Sequence[asyncio.Task[None]]) -> None:
    """Wait until all pages are open, for at most `LATEST_S` seconds, and then until their first data has arrived."""
    for _ in range(10 * LATEST_S):
        if all(page.is_open for page in load.pages()) or any(reader.done() for reader in readers):
            break
        await asyncio.sleep(0.1)
    await asyncio.sleep(3)


async def wait_for_pages(load: Load, changes: int, messages: int) -> None:
    """Wait until all pages have seen everything, for at most `LATEST_S` seconds: what they miss then is lost."""
    expected = [(page, messages if isinstance(page, SessionPage) else changes) for page in load.pages()]
    for _ in range(10 * LATEST_S):
        if all(len(page.seen) >= number for page, number in expected):
            return
        await asyncio.sleep(0.1)


def report_pages(what: str, pages: Sequence[Page], changes: int, *, most_p95_ms: float) -> None:
    if not pages:
        return
    lost = sum(changes - len(page.seen) for page in pages)
    print(f"{len(pages):4} {what:<32} lost {lost} of {changes * len(pages)}{within(lost, 0)}", end=", ")
    report_times("", [delay for page in pages for delay in page.delays_ms], most_p95_ms=most_p95_ms)


def report_times(what: str, times_ms: list[float], *, most_p95_ms: float | None = None) -> None:
    if len(times_ms) < 2:
        print(f"{what}: no figures")
        return
    cuts = statistics.quantiles(times_ms, n=20)
    bound = "" if most_p95_ms is None else within(cuts[-1], most_p95_ms)
    start = f"     {what:<32} " if what else ""
    print(
        f"{start}p50 {statistics.median(times_ms):.0f} ms, p95 {cuts[-1]:.0f} ms{bound}, most {max(times_ms):.0f} ms"
    )


def within(value: float, most: float) -> str:
    """Return the bound of a figure, and whether the figure keeps it."""
    return f" (bound {most:g}: {'kept' if value <= most else 'EXCEEDED'})"


def write_message(redis: Redis, session_id: str, number: int) -> None:
    """Write a message as a turn does."""
    text = f"n{number}t{int(time.time() * 1000)}\n\n{MARKDOWN}"
    message = build_turn_message(
        Role.AGENT,
        text,
        timestamp=utcnow(),
        participant_id="ann",
        turn_number=number,
        token_id=new_id(),
        fence=number,
    )
    redis.xadd(session_key(session_id, "dialog"), {"m": message.to_json()})

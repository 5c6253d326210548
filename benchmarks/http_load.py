"""Load of the HTTP API: followers, submissions and memory.

    python benchmarks/http_load.py --followers 1000 --sessions 50 --submits 200 --seconds 10

Starts an embedded Valkey, a worker and a server. Each session is of scripted agents that post a message a second; the
delay of a message is the time from its entry in Redis to its arrival at a follower, on one machine with one clock.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import signal
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import ExitStack, contextmanager
from pathlib import Path

import httpx
import psutil

from symposia.client.embedded import EmbeddedServer
from symposia.client.processes import end_process, end_with_parent, free_port

HUMAN = {"participant_id": "ann", "kind": "human"}
SESSION = {
    "title": "Load",
    "purpose": "Wait for posts.",
    "mode": "round_robin",
    "participants": [HUMAN, {"participant_id": "ben", "kind": "human"}],
    "stop": {"max_rounds": 1},
}


@contextmanager
def process(command: list[str], environment: dict[str, str], log: Path) -> Iterator[subprocess.Popen[bytes]]:
    with log.open("wb") as output:
        started = subprocess.Popen(
            end_with_parent([sys.executable, "-m", *command], signal.SIGKILL),
            env={**os.environ, **environment},
            stdout=output,
            stderr=output,
        )
        try:
            yield started
        finally:
            end_process(started, timeout_s=20)


def memory_mb(started: subprocess.Popen[bytes]) -> float:
    return psutil.Process(started.pid).memory_info().rss / 1e6


async def follow(
    http: httpx.AsyncClient, session_id: str, delays: list[float], ready: asyncio.Semaphore
) -> None:
    async with http.stream("GET", f"/sessions/{session_id}/events", params={"deltas": "false"}) as answer:
        event = ""
        ready.release()
        async for line in answer.aiter_lines():
            if line.startswith("event: "):
                event = line[7:]
            elif line.startswith("id: ") and event == "message":
                # The id of the entry is the server's time in milliseconds.
                delays.append(time.time() * 1000 - int(line[4:].split("-")[0]))
            elif line == "event: end":
                return


async def measure(args: argparse.Namespace, url: str, server: subprocess.Popen[bytes]) -> dict[str, float]:
    limits = httpx.Limits(max_connections=None, max_keepalive_connections=100)
    async with httpx.AsyncClient(base_url=url, limits=limits, timeout=60) as http:
        ids = [
            (await http.post("/sessions", json={"session": SESSION})).json()["id"]
            for _ in range(args.sessions)
        ]
        before = memory_mb(server)
        delays: list[float] = []
        ready = asyncio.Semaphore(0)
        followers = [
            asyncio.create_task(follow(http, ids[number % len(ids)], delays, ready))
            for number in range(args.followers)
        ]
        for _ in followers:
            await ready.acquire()
        await asyncio.sleep(2)
        deadline = time.monotonic() + args.seconds
        while time.monotonic() < deadline:
            await asyncio.gather(
                *(http.post(f"/sessions/{one}/post", json={"text": "Hello"}) for one in ids[: args.posts])
            )
            await asyncio.sleep(1)
        await asyncio.sleep(2)
        after = memory_mb(server)
        for task in followers:
            task.cancel()
        await asyncio.gather(*followers, return_exceptions=True)
        began = time.monotonic()
        slots = asyncio.Semaphore(20)

        async def submit() -> int:
            async with slots:
                return (await http.post("/sessions", json={"session": SESSION})).status_code

        codes = await asyncio.gather(*(submit() for _ in range(args.submits)))
        took = time.monotonic() - began
    ordered = sorted(delays)
    return {
        "followers": args.followers,
        "sessions": args.sessions,
        "messages received": len(ordered),
        "delay p50 ms": round(statistics.median(ordered), 1) if ordered else -1,
        "delay p95 ms": round(ordered[int(len(ordered) * 0.95)], 1) if ordered else -1,
        "submits a second": round(args.submits / took, 1),
        "submits refused": sum(code != 201 for code in codes),
        "memory before MB": round(before, 1),
        "memory with followers MB": round(after, 1),
        "memory at the end MB": round(memory_mb(server), 1),
    }


def main() -> None:
    parser = argparse.ArgumentParser(
        description=__doc__, formatter_class=argparse.RawDescriptionHelpFormatter
    )
    parser.add_argument(
        "--followers", type=int, default=1_000, help="Followers, at most 200 for each caller."
    )
    parser.add_argument("--sessions", type=int, default=50)
    parser.add_argument("--posts", type=int, default=50, help="Sessions that get a message each second.")
    parser.add_argument("--submits", type=int, default=400)
    parser.add_argument("--seconds", type=float, default=10)
    args = parser.parse_args()
    with tempfile.TemporaryDirectory() as name, ExitStack() as stack:
        folder = Path(name)
        valkey = stack.enter_context(EmbeddedServer(folder / "server", durable=False, bound=True))
        port = free_port("127.0.0.1", preferred=8_765)
        environment = {
            "SYMPOSIA_REDIS_URL": valkey.url,
            "SYMPOSIA_DATA_DIR": str(folder),
            "SYMPOSIA_ARCHIVE": "false",
            "SYMPOSIA_HTTP_STREAMS": str(max(200, args.followers)),
        }
        worker = ["symposia", "worker", "--processes", "1", "--loglevel", "warning"]
        stack.enter_context(process(worker, environment, folder / "worker.log"))
        serve = ["symposia", "serve", "--no-auth", "--port", str(port)]
        server = stack.enter_context(process(serve, environment, folder / "server.log"))
        url = f"http://127.0.0.1:{port}/v1"
        for _ in range(600):
            try:
                httpx.get(f"{url}/sessions")
                break
            except httpx.TransportError:
                time.sleep(0.1)
        print(json.dumps(asyncio.run(measure(args, url, server)), indent=2))


if __name__ == "__main__":
    main()

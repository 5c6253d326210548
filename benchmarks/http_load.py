"""Load of the HTTP API: followers, submissions and memory.

    python benchmarks/http_load.py --followers 1000 --sessions 50 --submits 200 --seconds 10

Starts an embedded Valkey, a worker and a server. Each session gets a post a second, at another moment than the others;
the delay of a message is the time from its entry in Redis to its arrival at a follower, on one machine with one clock.
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


async def follow(port: int, session_id: str, delays: list[float], ready: asyncio.Semaphore) -> None:
    """Follow a session with as little work as possible: the followers share a core with the server."""
    reader, writer = await asyncio.open_connection("127.0.0.1", port)
    writer.write(
        f"GET /v1/sessions/{session_id}/events?deltas=false HTTP/1.1\r\nHost: 127.0.0.1\r\n\r\n".encode()
    )
    is_message = False
    try:
        async for line in reader:
            if line.startswith(b": symposia"):
                ready.release()
            elif line.startswith(b"event: "):
                is_message = line == b"event: message\n"
            elif is_message and line.startswith(b"id: "):
                # The id of the entry is the server's time in milliseconds.
                delays.append(time.time() * 1000 - int(line[4:].split(b"-")[0]))
    finally:
        writer.close()


async def post_each_second(http: httpx.AsyncClient, session_id: str, *, offset_s: float) -> None:
    await asyncio.sleep(offset_s)
    while True:
        began = time.monotonic()
        await http.post(f"/sessions/{session_id}/post", json={"text": "Hello"})
        await asyncio.sleep(max(0.0, began + 1 - time.monotonic()))


async def measure(args: argparse.Namespace, port: int, server: subprocess.Popen[bytes]) -> dict[str, float]:
    url = f"http://127.0.0.1:{port}/v1"
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
            asyncio.create_task(follow(port, ids[number % len(ids)], delays, ready))
            for number in range(args.followers)
        ]
        for _ in followers:
            await ready.acquire()
        await asyncio.sleep(2)
        delays.clear()
        posters = [
            asyncio.create_task(post_each_second(http, one, offset_s=number / args.posts))
            for number, one in enumerate(ids[: args.posts])
        ]
        await asyncio.sleep(args.seconds)
        for task in posters:
            task.cancel()
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
        print(json.dumps(asyncio.run(measure(args, port, server)), indent=2))


if __name__ == "__main__":
    main()

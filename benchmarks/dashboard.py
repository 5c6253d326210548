"""How fast Flower lists sessions, and how late pages see each of 10 changes a second.

.venv/bin/python benchmarks/dashboard.py [--archived 10000] [--live 500] [--clients 50] [--browsers 3] [--sessions 10]
    [--seconds 30]

The pages are 50 lists in browsers of their own, 3 browsers with 12 tabs each (3 streams, 9 polling tabs), 10 pages of
sessions in which a message in Markdown is written every second, and 2 people who load the page of a session every
second. The figures are those of one Flower process with a server of its own, and 500 sessions that no worker runs. The
delay is the time from the entry in Redis to its arrival in a page, on the same clock. The pages, the server and Flower
share the processor: run it on an idle machine.
"""

from __future__ import annotations

import argparse
import asyncio
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator
from contextlib import contextmanager
from http.client import HTTPConnection
from pathlib import Path

import psutil
from dashboard_clients import HOST
from dashboard_load import measure_updates

from symposia.archive.archive import Archive
from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.client.processes import free_port
from symposia.config.settings import Settings, child_environment, load_settings
from symposia.models.protocol.collab import Collab, Participant
from symposia.models.sessions.archived import STREAM_STARTS, ArchivePage, Documents, Snapshot
from symposia.workspace.sql.store import deliver_to_conversation

#: Load of a machine that does nothing else.
IDLE_LOAD = 0.5
#: Maximum seconds that Flower may take to start, and to stop.
START_S = 60
STOP_S = 20


def main() -> None:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--archived", type=int, default=10_000)
    parser.add_argument("--live", type=int, default=500)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--browsers", type=int, default=3)
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=30)
    chosen = parser.parse_args()
    if (busy := os.getloadavg()[0]) > IDLE_LOAD:
        print(f"The machine is busy (load {busy:.1f}): the figures below are not those of Flower alone.")
    with (
        tempfile.TemporaryDirectory() as name,
        EmbeddedServer(Path(name) / "server", durable=False) as server,
    ):
        folder = Path(name)
        url = f"sqlite:///{folder / 'archive.sqlite3'}"
        fill_archive(url, chosen.archived)
        settings = load_settings(redis_url=server.url, database_url=url, archive=True, data_dir=str(folder))
        with Client(settings, worker_grace_s=1) as client:
            jobs = [
                client.submit(collab(f"Live {number}"), agents=AGENTS, options={"repetition": "ignore"})
                for number in range(chosen.live)
            ]
            print(f"{chosen.archived:,} archived and {chosen.live} live sessions")
            with flower(settings) as (process, port):
                measure_list(port)
                asyncio.run(measure_updates(process, port, jobs, chosen))


AGENTS = {"ann": "echo", "bob": "echo"}


def collab(title: str) -> Collab:
    people = [Participant(participant_id=name, kind="agent") for name in AGENTS]
    return Collab(title=title, purpose="measure", mode="pair", participants=people)


def fill_archive(url: str, sessions: int) -> None:
    archive = Archive(url, deliver_to_conversation)
    archive.prepare()
    for number in range(sessions):
        document, at_ms = collab(f"Old {number}"), 1_700_000_000_000 + number * 1_000
        times = {"updated_ms": str(at_ms), "ended_ms": str(at_ms)}
        fields = {"status": "completed", "dialog_status": "completed", "reason": "max_rounds", **times}
        page = ArchivePage(
            session_id=document.collab_id,
            opened_ms=at_ms,
            documents=Documents(document.to_json(), "{}"),
            since=STREAM_STARTS,
            dialog=(),
            snapshot=Snapshot(fields, {}, {}),
        )
        archive.writer.write(page, None)  # type: ignore[arg-type]  # its one page is whole
    archive.close()


@contextmanager
def flower(settings: Settings) -> Iterator[tuple[psutil.Process, int]]:
    port = free_port(HOST, preferred=5_600)
    command = [str(Path(sys.executable).with_name("symposia")), "flower", f"--port={port}"]
    with subprocess.Popen(
        command, env=child_environment(settings), stdout=subprocess.DEVNULL, stderr=subprocess.DEVNULL
    ) as process:
        try:
            _wait_until_up(process, port)
            yield psutil.Process(process.pid), port
        finally:
            process.terminate()
            try:
                process.wait(STOP_S)
            except subprocess.TimeoutExpired:
                print(f"Flower did not stop within {STOP_S} s", flush=True)
                process.kill()


def _wait_until_up(process: subprocess.Popen[bytes], port: int) -> None:
    deadline = time.monotonic() + START_S
    while not _is_up(port):
        if process.poll() is not None or time.monotonic() > deadline:
            sys.exit(f"Flower did not start within {START_S} s (exit code {process.poll()})")
        time.sleep(0.05)


def _is_up(port: int) -> bool:
    try:
        return get(port, "/healthcheck")[0] == 200
    except OSError:
        return False


def get(port: int, path: str) -> tuple[int, bytes]:
    connection = HTTPConnection(HOST, port, timeout=30)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


def measure_list(port: int) -> None:
    report("the first list after the start of Flower", port, "/api/collabs", times=1)
    report("the list", port, "/api/collabs")
    report("the list of 500", port, "/api/collabs?limit=500")
    report("the list by title, filtered", port, "/api/collabs?sort=title&q=live&status=active")
    report("the page", port, "/collabs")
    report("archived sessions", port, "/api/collabs/archived")
    report("archived sessions with a text", port, "/api/collabs/archived?q=old%201234")


def report(what: str, port: int, path: str, *, times: int = 20) -> None:
    took = []
    for _ in range(times):
        began = time.perf_counter()
        status, _ = get(port, path)
        took.append((time.perf_counter() - began) * 1000)
        assert status == 200, (path, status)
    print(f"{what:<42} median {statistics.median(took):7.1f} ms   most {max(took):7.1f} ms")


if __name__ == "__main__":
    main()

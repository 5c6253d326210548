"""How fast Flower's pages are, how late they see changes, and whether Flower stays small and responsive under load.

.venv/bin/python benchmarks/dashboard.py [--archived 20000] [--live 1000] [--clients 50] [--browsers 3] [--sessions 10]
    [--seconds 30] [--minutes 3] [--database postgres] [--json FILE]

Changes: the pages are 50 lists in browsers of their own, 3 browsers with 12 tabs each (3 streams, 9 polling tabs), 10
pages of sessions in which a message in Markdown is written every second, and 2 people who load the page of a session
every second. The delay is the time from the entry in Redis to its arrival in a page, on the same clock.

Then a worker runs some of the sessions, with about 20 changes a second, and each list and page is loaded; last, 12 tabs
follow lists and sessions for some minutes. Processor time is that of Flower only, but the pages, the server, the worker
and Flower share the processor: run it on an idle machine.
"""

from __future__ import annotations

import argparse
import asyncio
import json
import os
import statistics
import subprocess
import sys
import tempfile
import time
from collections.abc import Iterator, Sequence
from contextlib import ExitStack, contextmanager, suppress
from pathlib import Path
from typing import Any

import psutil
from dashboard_clients import HOST
from dashboard_load import MAX_CORES, measure_updates, within
from dashboard_pages import MAX_PAGE_S, PageTime, get, measure_pages
from dashboard_sessions import fill_archive, running, submit_live, write_agents
from dashboard_tabs import Sample, growth_mib, watch
from harness.peer_servers import postgres

from symposia.client import Client
from symposia.client.embedded import EmbeddedServer
from symposia.client.processes import free_port
from symposia.config.settings import Settings, child_environment, load_settings
from symposia.models.errors import IllegalTransition

#: Load of a machine that does nothing else.
IDLE_LOAD = 0.5
#: Maximum seconds that Flower may take to start, and to stop.
START_S = 60
STOP_S = 20
#: Maximum seconds until the worker has parked half of the sessions that ask a person.
SETTLE_S = 60.0
#: Maximum MiB by which the memory of Flower may grow in an hour.
MAX_GROWTH_MIB = 20.0


def main() -> None:
    options = read_options()
    if (busy := os.getloadavg()[0]) > IDLE_LOAD:
        print(f"The machine is busy (load {busy:.1f}): wall times below are not those of Flower alone.")
    with ExitStack() as stack:
        folder = Path(stack.enter_context(tempfile.TemporaryDirectory()))
        server = stack.enter_context(EmbeddedServer(folder / "server", durable=False))
        url = options.database or f"sqlite:///{folder / 'archive.sqlite3'}"
        if url == "postgres":
            url = stack.enter_context(postgres(relaxed=False))
        began = time.monotonic()
        fill_archive(url, options.archived)
        settings = load_settings(
            redis_url=server.url,
            database_url=url,
            archive=True,
            data_dir=str(folder),
            agents_file=write_agents(folder),
        )
        client = stack.enter_context(Client(settings, worker_grace_s=1))
        jobs = submit_live(client, options.live)
        print(
            f"{options.archived:,} archived and {options.live:,} live sessions in {time.monotonic() - began:.0f} s"
        )
        process, port = stack.enter_context(flower(settings))
        active = [job for number, job in enumerate(jobs) if number % 10 != 9]  # the others are suspended
        asyncio.run(measure_updates(process, port, active, options))
        for job in active:
            with suppress(IllegalTransition):  # it was not suspended
                job.resume()
        for job in active[-options.sessions :] if options.sessions else []:
            job.cancel("measured", by="benchmark")
        stack.enter_context(running(settings, client, options.live))
        measure_load(client, process, port, options)


def read_options() -> argparse.Namespace:
    parser = argparse.ArgumentParser(description=(__doc__ or "").splitlines()[0])
    parser.add_argument("--archived", type=int, default=20_000)
    parser.add_argument("--live", type=int, default=1_000)
    parser.add_argument("--clients", type=int, default=50)
    parser.add_argument("--browsers", type=int, default=3)
    parser.add_argument("--sessions", type=int, default=10)
    parser.add_argument("--seconds", type=int, default=30)
    parser.add_argument(
        "--minutes", type=float, default=3.0, help="minutes in which 12 tabs are open (default 3)"
    )
    parser.add_argument(
        "--database", help="URL of the archive, or `postgres` for a new server (default SQLite)"
    )
    parser.add_argument("--json", type=Path, help="file for the figures")
    return parser.parse_args()


def measure_load(client: Client, process: psutil.Process, port: int, options: argparse.Namespace) -> None:
    """Load pages, and keep tabs open, while a worker changes sessions."""
    deadline = time.monotonic() + SETTLE_S
    while search(port, "attention=person")["total"] < options.live // 4 and time.monotonic() < deadline:
        time.sleep(0.5)
    pages = measure_pages(process.pid, port, chosen_sessions(port))

    def running_sessions() -> Sequence[str]:
        rows = json.loads(get(port, "/api/collabs?limit=500&status=active&q=live")[1])["collabs"]
        return [row["id"] for row in rows if row["attention"] is None and row["speakers"]] or [rows[0]["id"]]

    print(f"12 tabs for {options.minutes:g} minutes:", flush=True)
    samples = asyncio.run(watch(process, port, options.minutes, running_sessions))
    figures = summarize(pages, samples)
    print_figures(figures)
    if options.json:
        options.json.write_text(json.dumps(figures))


def chosen_sessions(port: int) -> dict[str, str]:
    """Return sessions of several kinds by their kind."""
    queries = {
        "running": "status=active&sort=-opened&mode=pair",
        "waits for a person": "attention=person",
        "archived": "status=completed&sort=opened",
        "archived, failed": "status=failed&sort=opened",
    }
    chosen = {}
    for kind, query in queries.items():
        if rows := search(port, query)["collabs"]:
            chosen[kind] = rows[0]["id"]
    return chosen


def search(port: int, query: str) -> Any:
    """Return the first session of a query, and the number of all."""
    return json.loads(get(port, f"/api/collabs/search?{query}&per_page=1")[1])


def summarize(pages: Sequence[PageTime], samples: Sequence[Sample]) -> dict[str, Any]:
    """Return the figures by name: value, unit, bound (None: there is none)."""
    lists = [page for page in pages if page.path.startswith("/collabs?")]
    cores = [sample.cores for sample in samples]
    return {
        "slowest page": [max(page.wall_s for page in pages), "s", MAX_PAGE_S],
        "median of the lists": [statistics.median(page.wall_s for page in lists), "s", None],
        "CPU of Flower for a list": [statistics.mean(page.cpu_s for page in lists), "s", None],
        "most CPU of Flower for a page": [max(page.cpu_s for page in pages), "s", None],
        "Flower with 12 tabs": [statistics.mean(cores), "cores", MAX_CORES],
        "memory of Flower": [samples[-1].rss_mib, "MiB", None],
        "growth of its memory": [growth_mib(samples), "MiB/h", MAX_GROWTH_MIB],
        "load of the machine": [statistics.mean(sample.load for sample in samples), "", None],
    }


def print_figures(figures: dict[str, Any]) -> None:
    for name, (value, unit, bound) in figures.items():
        print(f"{name:<32} {value:8.3f} {unit:<6}{'' if bound is None else within(value, bound)}")


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


if __name__ == "__main__":
    main()

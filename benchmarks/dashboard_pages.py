"""How long pages of Flower take, for benchmarks/dashboard.py, and the processor time of Flower for each."""

from __future__ import annotations

import os
import time
from collections.abc import Iterator, Mapping
from dataclasses import dataclass
from http.client import HTTPConnection
from itertools import product
from pathlib import Path
from urllib.parse import urlencode

from dashboard_clients import HOST

#: Maximum seconds of a page.
MAX_PAGE_S = 1.0
#: Requests of each page, and seconds in which the processor time without requests is measured.
REPEATS, REST_S = 3, 5.0
FILTERS: tuple[Mapping[str, str], ...] = (
    {}, {"status": "failed"}, {"status": "active"}, {"status": "limit,cancelled"}, {"attention": "person"},
    {"mode": "pair"}, {"tenant": "press"}, {"agent": "writer"}, {"agent": "ann"}, {"tag": "urgent"}, {"since": "7d"},
    {"since": "30d", "until": "7d"}, {"cost_min": "0.05"}, {"error": "disk full"}, {"q": "letter"}, {"q": "writer"},
    {"q": "nothing like this"}, {"q": "école", "status": "failed", "since": "30d"}, {"user": "42"},
)  # fmt: skip
SORTS = ("-duration", "title", "-tokens", "status", "opened")
#: Filters with which sessions are grouped, by their positions.
GROUPED = (0, 1, 6, 14)
GROUPS = ("agent", "error", "tenant", "tag")
#: Other pages.
PATHS = (
    "/collabs?page=300", "/collabs?per_page=500", "/inbox", "/schedules", "/reviews", "/workers", "/tasks", "/broker",
    "/api/collabs?limit=500", "/api/collabs/archived?q=letter", "/api/inbox",
)  # fmt: skip


def cpu_s(pid: int) -> float:
    """Return the processor seconds of a process; `/proc/PID/stat` counts hundredths only."""
    tasks = Path(f"/proc/{pid}/task").glob("*/schedstat")
    return sum(int(task.read_text().split()[0]) for task in tasks) / 1e9


def get(port: int, path: str) -> tuple[int, bytes]:
    """Request a path; return status and body."""
    connection = HTTPConnection(HOST, port, timeout=60)
    try:
        connection.request("GET", path)
        answer = connection.getresponse()
        return answer.status, answer.read()
    finally:
        connection.close()


@dataclass(frozen=True)
class PageTime:
    """The slowest request of a page, and the mean processor time of Flower for one."""

    path: str
    wall_s: float
    cpu_s: float


def measure_pages(pid: int, port: int, sessions: Mapping[str, str]) -> list[PageTime]:
    """Request every page; print the slowest ones.

    Args:
        pid: The process of Flower.
        port: Its port.
        sessions: Sessions whose pages are measured: kind -> id.
    """
    began, rest = time.perf_counter(), cpu_s(pid)
    time.sleep(REST_S)
    idle = (cpu_s(pid) - rest) / (time.perf_counter() - began)
    paths = [*_list_paths(), *PATHS, *(f"/collabs/{session_id}" for session_id in sessions.values())]
    times = sorted((_measure(pid, port, path, idle) for path in paths), key=lambda page: -page.wall_s)
    print(
        f"{len(times)} pages, Flower uses {idle:.2f} cores besides; seconds of the slowest of {REPEATS} requests, "
        f"mean processor time of Flower (load {os.getloadavg()[0]:.1f})"
    )
    for page in times[:25]:
        print(f"  {page.wall_s:6.3f} {page.cpu_s:6.3f}  {page.path}")
    for name, session_id in sessions.items():
        (page,) = (page for page in times if page.path.endswith(session_id))
        print(f"  {page.wall_s:6.3f} {page.cpu_s:6.3f}  page of a session: {name}")
    return times


def _list_paths() -> Iterator[str]:
    queries = [
        *FILTERS,
        *({**filters, "sort": "-cost"} for filters in FILTERS),
        *({"sort": sort} for sort in SORTS),
    ]
    queries += [{**FILTERS[number], "group": group} for number, group in product(GROUPED, GROUPS)]
    return (f"/collabs?{urlencode(query)}" for query in queries)


def _measure(pid: int, port: int, path: str, idle: float) -> PageTime:
    before, began = cpu_s(pid), time.perf_counter()
    walls = [_seconds(port, _new_query(path, number)) for number in range(REPEATS)]
    spent = cpu_s(pid) - before - idle * (time.perf_counter() - began)
    return PageTime(path, max(walls), max(0.0, spent / REPEATS))


def _new_query(path: str, number: int) -> str:
    """Return the list in a size that no page had, so that its search is not shared with an earlier one."""
    is_list = path.startswith("/collabs?") and "per_page" not in path
    return f"{path}&per_page={50 + number}" if is_list else path


def _seconds(port: int, path: str) -> float:
    began = time.perf_counter()
    status, _ = get(port, path)
    assert status == 200, (path, status)
    return time.perf_counter() - began

"""Dialog memories a second of one process on the embedded server, and the bytes each takes.

    python benchmarks/memory.py --states 2000

A state is what a turn costs: read, merge, write. Next to it, on the same connection, two bare
commands (GET and SET of a text as long): only the ratio means something on a noisy machine.
"""

from __future__ import annotations

import argparse
import statistics
import sys
import tempfile
import threading
import time
from collections.abc import Callable
from pathlib import Path

from rich.console import Console
from rich.table import Table

TRIP = {
    "from": "Nairobi",
    "to": "London",
    "departure_date": "2026-02-10",
    "passenger_count": 1,
    "cabin_class": "economy",
    "preferred_airline": "Kenya Airways",
}
SESSION = "0b5d7f0e-6c1c-4c58-9d4b-0a4f1f4f8c11"


def main() -> int:
    parser = argparse.ArgumentParser(description=__doc__.splitlines()[0])
    parser.add_argument("--states", type=int, default=2_000, help="states of each run")
    parser.add_argument("--threads", type=int, default=8, help="turns side by side, as in a worker")
    parser.add_argument("--repeat", type=int, default=3, help="pairs of runs")
    options = parser.parse_args()
    from symposia.client.embedded import EmbeddedServer

    with tempfile.TemporaryDirectory() as folder, EmbeddedServer(Path(folder)) as server:
        return report(server.url, options)


def side_by_side(options: argparse.Namespace, one: Callable[[int], None]) -> float:
    """How often a second `one` is done by all threads together."""

    def work(first: int) -> None:
        for number in range(first, options.states, options.threads):
            one(number)

    threads = [threading.Thread(target=work, args=(first,)) for first in range(options.threads)]
    began = time.perf_counter()
    for thread in threads:
        thread.start()
    for thread in threads:
        thread.join()
    return options.states / (time.perf_counter() - began)


def turn(store, user: str) -> None:
    """What one turn does with a memory: read, merge, write."""
    from symposia.memory.merge import (
        StatementOrigin,
        WriteMetadata,
        apply_statement,
        parse_statement,
        write_mark,
    )
    from symposia.memory.values import Owner
    from symposia.models.memory.recall import RecallContext, recall
    from symposia.models.memory.services import find_service

    owner, travel = Owner(user, "room_abc"), find_service("travel")
    look = store.look(owner)
    statement = parse_statement(travel, StatementOrigin(look.stamp_ms, SESSION, 1), TRIP).statement
    recall(
        apply_statement(look.room.value, statement),
        travel,
        RecallContext(look.now_ms, store.rules.ttl_ms, SESSION),
    )
    mark = write_mark(SESSION, time.perf_counter_ns())
    store.write(
        owner, [statement], WriteMetadata(look.now_ms, mark, by="connector", session=SESSION), look=look
    )


def report(url: str, options: argparse.Namespace) -> int:
    from symposia.memory.store import MemoryStore
    from symposia.memory.values import MemoryRules
    from symposia.state.redis.connect import connect

    client = connect(url)
    store = MemoryStore(client, MemoryRules())
    turn(store, "warm")
    text = client.get("dialog:warm:room_abc")

    def bare(number: int) -> None:
        client.get(f"bare:{number}")
        client.set(f"bare:{number}", text, ex=21_600)

    pairs = [
        (
            side_by_side(options, bare),
            side_by_side(options, lambda number: turn(store, f"user{number}")),
            side_by_side(options, lambda number: turn(store, f"user{number % 8}")),
        )
        for _ in range(options.repeat)
    ]
    used = [client.memory_usage(f"dialog:user{number}:room_abc") for number in range(8, 108)]
    table = Table(title=f"{options.states} states, {options.threads} threads, one process")
    for heading in ("what", "a second (median)", "ratio to bare (median)"):
        table.add_column(heading, justify="left" if heading == "what" else "right")
    for index, what in enumerate(("GET and SET", "memories, each another", "memories, eight in all")):
        rate = statistics.median(row[index] for row in pairs)
        ratio = statistics.median(row[index] / row[0] for row in pairs)
        table.add_row(what, f"{rate:.0f}", f"{ratio:.2f}")
    Console().print(table)
    print(f"bytes a state: {min(used)} to {max(used)}, of which the value {len(text.encode())}")
    return 0


if __name__ == "__main__":
    sys.exit(main())

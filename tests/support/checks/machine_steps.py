"""What a query costs, counted in steps of SQLite's machine, not in time."""

from __future__ import annotations

from collections.abc import Callable, Iterator
from contextlib import contextmanager
from typing import Any

from sqlalchemy import event

from symposia.archive.archive import Archive

#: Instructions of SQLite's machine between two counts.
EVERY = 100


def steps(archive: Archive, ask: Callable[[], Any]) -> int:
    """Instructions that SQLite's machine takes for what `ask` asks of this archive."""
    with _counted(archive) as done:
        ask()
    return done[0]


@contextmanager
def _counted(archive: Archive) -> Iterator[list[int]]:
    """Counts what the machine does on connections made inside."""
    done = [0]

    def count() -> None:
        done[0] += EVERY

    def watch(connection: Any, _record: object) -> None:
        connection.set_progress_handler(count, EVERY)

    engine = archive.database._engine
    engine.dispose()
    event.listen(engine, "connect", watch)
    try:
        yield done
    finally:
        event.remove(engine, "connect", watch)
        engine.dispose()

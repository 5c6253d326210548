"""What a page costs is what it shows, not what the archive holds: counted in steps of SQLite's machine, not in time."""

from __future__ import annotations

import runpy
from collections.abc import Callable, Iterator
from contextlib import closing
from dataclasses import replace
from functools import partial
from pathlib import Path
from typing import Any

import pytest

import symposia
from checks.machine_steps import EVERY, steps
from symposia.archive.archive import Archive
from symposia.archive.results import SessionFilter
from symposia.workspace.sql.store import deliver_to_conversation

#: Messages of one session, as the benchmark writes them.
EACH = 100
FEW, MANY = 20, 80

PAGES: dict[str, Callable[[Archive], Any]] = {
    "first": lambda archive: archive.reader.page(limit=10),
    "behind a cursor": lambda archive: archive.reader.page(
        limit=10, after=archive.reader.page(limit=5).cursor
    ),
    "of a status": lambda archive: archive.reader.page(SessionFilter(status="active"), limit=10),
    "of a mode": lambda archive: archive.reader.page(SessionFilter(mode="round_robin"), limit=10),
    "of a tag": lambda archive: archive.reader.page(SessionFilter(tag="t3"), limit=1),
    "of a participant": lambda archive: archive.reader.page(SessionFilter(participant="p7"), limit=1),
    "since a time": lambda archive: archive.reader.page(SessionFilter(since_ms=1_700_000_000_000), limit=10),
    "with a rare word": lambda archive: archive.reader.search("needle7"),
    "with no such word": lambda archive: archive.reader.search("nowhere"),
}


MADE = runpy.run_path(str(Path(symposia.__file__).parent / "benchmarks" / "archive.py"))


def filled(file: Path, sessions: int) -> Archive:
    archive = Archive(f"sqlite:///{file}", deliver_to_conversation)
    archive.prepare()
    for number in range(sessions):
        archive.writer.write(MADE["session"](number), None)  # type: ignore[arg-type]  # its one page is whole
    return archive


@pytest.fixture(scope="module")
def archives(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Archive, Archive]]:
    """One archive, and one that holds four times as much."""
    folder = tmp_path_factory.mktemp("archives")
    with closing(filled(folder / "few.db", FEW)) as few, closing(filled(folder / "many.db", MANY)) as many:
        yield few, many


@pytest.mark.parametrize("name", PAGES)
@pytest.mark.long
def test_page_cost_does_not_grow_with_the_archive(archives: tuple[Archive, Archive], name: str) -> None:
    few, many = (steps(archive, partial(PAGES[name], archive)) for archive in archives)
    assert many <= 2 * few + 10 * EVERY


@pytest.mark.long
def test_search_cost_grows_with_its_hits(
    archives: tuple[Archive, Archive],
) -> None:
    _, many = archives
    for words in ("door", "door lamp"):
        assert steps(many, partial(many.reader.search, words)) < 20 * MANY * EACH


def test_page_of_a_dialog_costs_the_same_anywhere(tmp_path: Path) -> None:
    page = MADE["session"](0)
    words = tuple((f"{page.opened_ms + it}-0", MADE["message"](0, it)) for it in range(2_000))
    with closing(Archive(f"sqlite:///{tmp_path / 'long.db'}", deliver_to_conversation)) as archive:
        archive.prepare()
        archive.writer.write(replace(page, dialog=words), None)  # type: ignore[arg-type]
        read = partial(archive.reader.newest_page, page.session_id, "dialog", count=10)
        newest = steps(archive, read)
        for position in (1_000, 20):
            assert steps(archive, partial(read, before=words[position][0])) <= 2 * newest + 10 * EVERY

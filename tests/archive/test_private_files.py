"""An SQLite archive is readable only by its owner."""

from __future__ import annotations

import os
import sqlite3
import stat
from collections.abc import Iterator
from concurrent.futures import ThreadPoolExecutor
from contextlib import closing
from pathlib import Path
from threading import Barrier
from typing import Any

import pytest
from sqlalchemy import event, text

from scaling import patient
from symposia.archive.archive import Archive
from symposia.client.building.connection import open_archive
from symposia.config.settings import Settings, load_settings
from symposia.models.errors import ArchiveUnavailable, InvalidInput
from symposia.workspace.sql.store import deliver_to_conversation

NAME = "archive.sqlite3"
SIDE_FILES = (f"{NAME}-wal", f"{NAME}-shm")


@pytest.fixture(autouse=True)
def usual_umask() -> Iterator[None]:
    """By default new files are readable for everybody."""
    before = os.umask(0o022)
    yield
    os.umask(before)


def modes(folder: Path) -> dict[str, int]:
    return {it.name: stat.S_IMODE(it.stat().st_mode) for it in (folder, *folder.iterdir())}


def fill(archive: Archive, folder: Path) -> dict[str, int]:
    """Write to the archive; the modes of its files and its folder while it is open."""
    with closing(archive):
        archive.prepare()
        return modes(folder)


def private(folder: Path, *, folder_mode: int = 0o700) -> dict[str, int]:
    return {folder.name: folder_mode} | dict.fromkeys((NAME, *SIDE_FILES), 0o600)


def test_new_archive_is_private(tmp_path: Path) -> None:
    folder = tmp_path / "new" / "data"
    assert fill(Archive(f"sqlite:///{folder / NAME}", deliver_to_conversation), folder) == private(folder)
    assert modes(folder.parent)["new"] == 0o700


def test_archive_with_wider_rights_becomes_private(tmp_path: Path) -> None:
    folder = tmp_path / "shared"
    folder.mkdir(mode=0o755)
    with closing(sqlite3.connect(folder / NAME)) as other:
        other.execute("PRAGMA journal_mode = WAL")
        other.execute("CREATE TABLE other (it)")
        assert set(modes(folder).values()) == {0o755, 0o644}
        assert fill(Archive(f"sqlite:///{folder / NAME}", deliver_to_conversation), folder) == private(
            folder, folder_mode=0o755
        )


@pytest.mark.parametrize("shared", [True, False])
def test_default_data_folder_becomes_private(
    tmp_path: Path, monkeypatch: pytest.MonkeyPatch, shared: bool
) -> None:
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path))
    monkeypatch.delenv("SYMPOSIA_DATA_DIR", raising=False)
    settings = Settings(archive=True, database_url=None, shared=shared)
    folder = settings.data_dir
    assert folder == tmp_path / "symposia" or folder.parent == tmp_path / "symposia" / "projects"
    folder.mkdir(mode=0o755, parents=True)
    archive = open_archive(settings)
    assert archive is not None
    assert fill(archive, folder) == private(folder)


def test_chosen_data_folder_keeps_its_rights(tmp_path: Path) -> None:
    folder = tmp_path / "chosen"
    folder.mkdir(mode=0o750)
    archive = open_archive(Settings(archive=True, database_url=None, data_dir=folder))
    assert archive is not None
    assert fill(archive, folder) == private(folder, folder_mode=0o750)
    assert archive.database.exposed_files() == [(folder, 0o750)]


def test_file_is_private_before_sqlite_opens_it(tmp_path: Path) -> None:
    seen: list[tuple[int, int]] = []

    def look(_dialect: Any, _record: Any, arguments: list[str], _options: Any) -> None:
        found = Path(arguments[0]).stat()
        seen.append((stat.S_IMODE(found.st_mode), found.st_size))

    with closing(Archive(f"sqlite:///{tmp_path / NAME}", deliver_to_conversation)) as archive:
        event.listen(archive.database._engine, "do_connect", look)
        archive.prepare()
    assert seen[0] == (0o600, 0), "created empty and private"


def test_link_is_followed_to_a_private_file(tmp_path: Path) -> None:
    (tmp_path / "there").mkdir()
    (tmp_path / NAME).symlink_to(tmp_path / "there" / "real.sqlite3")
    with closing(Archive(f"sqlite:///{tmp_path / NAME}", deliver_to_conversation)) as archive:
        archive.prepare()
        there = modes(tmp_path / "there")
    del there["there"]
    assert set(there.values()) == {0o600}
    assert len(there) == 3


def test_threads_may_create_one_file_at_once(tmp_path: Path) -> None:
    number = 8
    barrier = Barrier(number)

    def create(_: int) -> None:
        with closing(Archive(f"sqlite:///{tmp_path / NAME}", deliver_to_conversation)) as archive:
            barrier.wait(patient(30))
            with archive.database.writing() as connection:
                connection.execute(text("CREATE TABLE IF NOT EXISTS written (it)"))
                connection.execute(text("INSERT INTO written VALUES (1)"))

    with ThreadPoolExecutor(number) as pool:
        list(pool.map(create, range(number)))
    with closing(sqlite3.connect(tmp_path / NAME)) as sql:
        assert sql.execute("SELECT count(*) FROM written").fetchone() == (number,)
        assert sql.execute("PRAGMA integrity_check").fetchone() == ("ok",)


def test_impossible_folder_is_an_archive_error(tmp_path: Path) -> None:
    (tmp_path / "file").write_text("")
    archive = Archive(f"sqlite:///{tmp_path / 'file' / 'below' / NAME}", deliver_to_conversation)
    with closing(archive), pytest.raises(ArchiveUnavailable):
        archive.prepare()


@pytest.mark.parametrize("database", ["file:/tmp/a?uri=true", ":memory:"])
def test_special_sqlite_names_are_refused(database: str, monkeypatch: pytest.MonkeyPatch) -> None:
    monkeypatch.setenv("SYMPOSIA_DATABASE_URL", f"sqlite:///{database}")
    with pytest.raises(InvalidInput, match="sqlite:///file"):
        load_settings()

"""Each project has a data folder of its own; `shared` and a configured Redis use that of the user."""

from __future__ import annotations

from pathlib import Path

import pytest

from files_of_others import give_to_other_user
from symposia.config.project import project_data_dir, project_folder
from symposia.config.settings import load_settings


@pytest.fixture
def data(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    """The data folder of the user, in a folder where no data folder is configured."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    monkeypatch.setenv("HOME", str(tmp_path))
    monkeypatch.setattr("sys.platform", "linux")
    monkeypatch.delenv("SYMPOSIA_DATA_DIR")
    return tmp_path / "share" / "symposia"


def enter(folder: Path, monkeypatch: pytest.MonkeyPatch, *files: str) -> Path:
    folder.mkdir(parents=True, exist_ok=True)
    for name in files:
        (folder / name).touch()
    monkeypatch.chdir(folder)
    return folder


@pytest.mark.parametrize("file", ["symposia.toml", "agents.toml"])
def test_folders_below_a_project_have_its_installation(data: Path, tmp_path: Path, monkeypatch, file) -> None:
    shop = enter(tmp_path / "shop", monkeypatch, file)
    found = load_settings().data_dir
    enter(shop / "src" / "deep", monkeypatch)
    assert project_folder() == shop
    assert load_settings().data_dir == found
    assert (found.parent, found.name[:5]) == (data / "projects", "shop-")


def test_projects_of_the_same_name_are_separate(data: Path, tmp_path: Path, monkeypatch) -> None:
    folders = [enter(tmp_path / it / "shop", monkeypatch) for it in ("a", "b")]
    assert len({project_data_dir(it) for it in folders}) == 2


def test_folder_names_are_short_and_readable(data: Path) -> None:
    names = [
        project_data_dir(Path(it)).name for it in ("/", "/x/" + "long-" * 40, "/x/ümlaut & söhne", "/x/...")
    ]
    assert all(len(it) <= 35 and it.isascii() and " " not in it for it in names)
    assert [it.rpartition("-")[0] for it in names[2:]] == ["mlaut-s-hne", "project"]


def test_a_configured_redis_uses_the_folder_of_the_user(data: Path, tmp_path: Path, monkeypatch) -> None:
    enter(tmp_path / "shop", monkeypatch)
    assert load_settings(redis_url="redis://db").data_dir == data
    assert load_settings(shared=True).data_dir == data


def test_settings_of_the_project_count_in_folders_below(data: Path, tmp_path: Path, monkeypatch) -> None:
    shop = enter(tmp_path / "shop", monkeypatch)
    (shop / "symposia.toml").write_text("lease_s = 5\nagents_file = 'agents.toml'\n")
    enter(shop / "src", monkeypatch)
    assert (load_settings().lease_s, load_settings().agents_file) == (5, shop / "agents.toml")


def test_files_of_other_users_above_make_no_project(data: Path, tmp_path: Path, monkeypatch) -> None:
    (tmp_path / "symposia.toml").touch()
    give_to_other_user(tmp_path / "symposia.toml", monkeypatch)
    folder = enter(tmp_path / "shop" / "src", monkeypatch)
    assert project_folder() == folder


@pytest.mark.parametrize("file", ["valkey/server.json", "archive.sqlite3"])
def test_sessions_of_the_shared_installation_are_named_until_the_project_has_its_own(
    data: Path, tmp_path: Path, monkeypatch, caplog, file
) -> None:
    shop = enter(tmp_path / "shop", monkeypatch)
    load_settings()
    assert not caplog.messages
    enter((data / file).parent, monkeypatch, (data / file).name)
    monkeypatch.chdir(shop)
    settings = load_settings()
    (message,) = caplog.messages
    assert f"sessions of the installation that projects shared are in {data}" in message
    assert "`symposia up --shared`" in message
    settings.data_dir.mkdir(parents=True)
    caplog.clear()
    monkeypatch.setattr("symposia.config.settings._warn", pytest.fail)
    load_settings()

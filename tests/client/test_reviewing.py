"""`Client.review`: files reviewed from Python; without a worker they wait for one."""

from __future__ import annotations

from pathlib import Path

import pytest

from symposia import Client, ReviewJob
from symposia.config.settings import load_settings
from symposia.models.errors import InvalidInput, UnknownAgent


@pytest.fixture
def client(redis_url: str, tmp_path: Path) -> Client:
    return Client(load_settings(redis_url=redis_url, data_dir=tmp_path / "data"))


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Path:
    folder = tmp_path / "project"
    (folder / "src").mkdir(parents=True)
    (folder / "src" / "app.py").write_text("import os\n")
    (folder / "notes.md").write_text("# Notes\n")
    monkeypatch.chdir(folder)
    return folder


def test_files_are_handed_over_and_wait_for_a_worker(client: Client, project: Path):
    job = client.review("src", panel="code")
    assert isinstance(job, ReviewJob)
    view = job.progress()
    assert (view.total, view.waiting + view.running, view.settled) == (1, 1, 0)
    run = client.get_review(job.id).run()
    assert (run.root_name, run.panel, run.state) == ("project", "code", "running")
    assert [it.item.path for it in run.results] == ["src/app.py"]
    with pytest.raises(TimeoutError, match="it keeps running"):
        job.result(timeout=0)


def test_a_review_warns_when_no_worker_is_running(
    client: Client, project: Path, caplog: pytest.LogCaptureFixture
):
    job = client.review("src", panel="code")
    with pytest.raises(TimeoutError):
        job.result(timeout=0)
    warning = (
        f"no worker is running, review {job.id} is waiting: start one with `symposia worker` or `symposia up`"
    )
    assert [it.getMessage() for it in caplog.records] == [warning, warning]
    client._installation.sessions.workers.announce("w1@here", ["judge", "ruff", "bandit"])
    with pytest.raises(TimeoutError):
        job.result(timeout=0)
    assert len(caplog.records) == 2


def test_without_a_path_it_is_the_working_folder(client: Client, project: Path):
    run = client.review().run()
    assert [it.item.path for it in run.results] == ["src/app.py"]
    assert {it.path for it in run.skipped} == {"notes.md"}


def test_paths_outside_of_the_working_folder_share_a_root_of_their_own(
    client: Client, project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(project / "src")
    run = client.review(project / "notes.md", panel="document").run()
    assert (run.root_name, [it.item.path for it in run.results]) == ("project", ["notes.md"])


@pytest.mark.parametrize(
    ("how", "field"),
    [({"panel": "x"}, "panel"), ({"since": "HEAD"}, "since"), ({"since": "last"}, "since")],
)
def test_what_is_not_there_is_told_before_anything_begins(client: Client, project: Path, how, field):
    with pytest.raises(InvalidInput) as caught:
        client.review(**how)
    assert caught.value.field == field
    assert client._installation.reviews.index.newest(count=1) == []


def test_an_agent_that_no_worker_knows_is_told(client: Client, project: Path):
    client._installation.sessions.workers.announce("w", ["judge", "ruff"])
    with pytest.raises(UnknownAgent, match="panel code: must be a registered agent"):
        client.review()

"""`Client.review`: files reviewed from Python; without a worker they wait for one."""

from __future__ import annotations

import asyncio
import re
from pathlib import Path

import pytest

from review_tools.values import a_run
from symposia import AsyncClient, Client, ReviewJob
from symposia.config.settings import load_settings
from symposia.models.errors import (
    AmbiguousId,
    InvalidInput,
    RedisUnavailable,
    ReviewNotFound,
    UnknownAgent,
)
from symposia.reviews.archive.writer import ReviewWriter

IDS = [f"0e8a4c5e-7b0c-4b8e-9f57-0a4b3f1f2d1{i}" for i in range(3)]
#: Nothing listens there.
NO_REDIS = "redis://127.0.0.1:1/0"


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


def test_reviewed_files_wait_for_a_worker(client: Client, project: Path):
    job = client.review("src", panel="code")
    assert isinstance(job, ReviewJob)
    view = job.progress()
    assert (view.total, view.waiting + view.running, view.settled) == (1, 1, 0)
    run = client.get_review(job.id).run()
    assert (run.root_name, run.panel, run.state) == ("project", "code", "running")
    assert [it.item.path for it in run.results] == ["src/app.py"]
    with pytest.raises(TimeoutError, match="it keeps running"):
        job.result(timeout=0)


def test_deliveries_of_a_review_are_stored(client: Client, project: Path):
    job = client.review("src", deliver=["pulls"], pull_request=5)
    then = client._installation.reviews.store.head(job.id).then
    assert (then["deliver"], then["pull_request"]) == (["pulls"], {"number": 5})
    with pytest.raises(InvalidInput, match="number"):
        client.review("src", deliver=["pulls"], pull_request=0)


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


def test_default_path_is_the_working_folder(client: Client, project: Path):
    run = client.review().run()
    assert [it.item.path for it in run.results] == ["src/app.py"]
    assert {it.path for it in run.skipped} == {"notes.md"}


def test_paths_outside_the_folder_get_their_own_root(
    client: Client, project: Path, monkeypatch: pytest.MonkeyPatch
):
    monkeypatch.chdir(project / "src")
    run = client.review(project / "notes.md", panel="document").run()
    assert (run.root_name, [it.item.path for it in run.results]) == ("project", ["notes.md"])


@pytest.mark.parametrize(
    ("how", "field"),
    [({"panel": "x"}, "panel"), ({"since": "HEAD"}, "since"), ({"since": "last"}, "since")],
)
def test_invalid_review_is_refused_before_it_starts(client: Client, project: Path, how, field):
    with pytest.raises(InvalidInput) as caught:
        client.review(**how)
    assert caught.value.field == field
    assert client._installation.reviews.index.newest(count=1) == []


def test_agent_unknown_to_workers_is_reported(client: Client, project: Path):
    client._installation.sessions.workers.announce("w", ["judge", "ruff"])
    with pytest.raises(UnknownAgent, match="panel code: must be a registered agent"):
        client.review()


def test_review_is_found_by_the_start_of_its_id(client: Client, project: Path):
    job = client.review("src", panel="code")
    for start in (job.id, job.id[:8], f" {job.id[:9].upper()} "):
        assert client.get_review(start).id == job.id


def test_async_client_finds_a_review_by_a_short_id(client: Client, project: Path, redis_url: str):
    job = client.review("src", panel="code")

    async def find() -> str:
        async with AsyncClient(load_settings(redis_url=redis_url)) as other:
            return (await (await other.get_review(job.id[:8])).run()).id

    assert asyncio.run(find()) == job.id


def test_archived_review_is_found_by_a_short_id(redis_url: str, tmp_path: Path):
    for url in (redis_url, NO_REDIS):
        settings = load_settings(redis_url=url, data_dir=tmp_path, archive=True)
        with Client(settings) as client:
            client.archive.prepare()
            ReviewWriter(client.archive.database).write(a_run().model_copy(update={"id": IDS[0]}))
            assert client.get_review(IDS[0][:8]).id == IDS[0]


def test_start_of_several_review_ids_is_ambiguous(client: Client):
    for batch_id in IDS:
        client._installation.reviews.index.add_batch(batch_id, 1)
    with pytest.raises(AmbiguousId) as caught:
        client.get_review("0e8a4c5e")
    assert sorted(caught.value.ids) == IDS
    assert str(caught.value).startswith("ambiguous: 3 reviews start with '0e8a4c5e' (")
    assert client.get_review(IDS[2][:-1] + "2").id == IDS[2]


@pytest.mark.parametrize("start", ["0e8a4c5e", "}{}{}{}{}", "a b c d e"])
def test_unknown_start_of_a_review_id_is_not_found(client: Client, start: str):
    with pytest.raises(ReviewNotFound, match=re.escape(repr(start))):
        client.get_review(start)


@pytest.mark.parametrize("start", ["", "}{", "0e8a4c5"])
def test_short_start_of_a_review_id_is_refused(client: Client, start: str):
    with pytest.raises(InvalidInput, match="id: must be a review id, or at least its first 8 characters"):
        client.get_review(start)


def test_start_of_a_review_id_needs_redis(tmp_path: Path):
    settings = load_settings(redis_url=NO_REDIS, data_dir=tmp_path)
    with Client(settings) as client, pytest.raises(RedisUnavailable):
        client.get_review("0e8a4c5e")

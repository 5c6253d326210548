"""Attachments in the archive: written with their session, read, restored, pruned; on each database."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest

from sessions.inline_installation import InlineInstallation
from stub_agents.files import PICTURE
from symposia.client.pruning import prune
from symposia.models.attachments import Attachment
from symposia.models.sessions.archived import ArchiveProgress
from symposia.models.sessions.stop_conditions import MaxRounds
from symposia.state.redis.keys import attachments_key

AGENTS = "\n".join(
    f'[agents.{name}]\nkind = "python"\ncallable = "stub_agents.files:{name}"'
    for name in ("count_bytes", "draw", "hand_on")
)
ONCE = {"stop": MaxRounds(1)}


def files(*contents: str) -> list[Attachment]:
    return [Attachment.of(f"{it}.txt", it) for it in contents]


@pytest.fixture
def keeper(tmp_path: Path, redis_url: str, database_url: str) -> Iterator[InlineInstallation]:
    """A worker with an archive. Its sessions are deleted at the end."""
    made = InlineInstallation(tmp_path, redis_url, AGENTS, archive=True, database_url=database_url)
    yield made
    lose(made, *made.client.jobs(count=100))
    made.close()
    made.client.close()
    made.runtime.ports.archiver.target.close()


def run(keeper, agents, **how):
    job = keeper.submit("round_robin", agents, **{**ONCE, **how})
    keeper.work()
    assert job.result().ok
    return job


def texts(job):
    return [message.content for message in job.dialog().messages]


def blobs(keeper):
    with keeper.runtime.ports.archiver.target.database.reading() as connection:
        return connection.exec_driver_sql("SELECT count(*) FROM blob").scalar()


def archive_now(keeper, *jobs):
    for job in jobs:
        keeper.runtime.ports.archiver.target.prepare()
        keeper.runtime.ports.archiver.archive(job.id, ArchiveProgress())


def lose(keeper, *jobs):
    client = keeper.runtime.store.client
    for job in jobs:
        client.delete(*client.keys(f"*{job.id}*"))


def test_keys_of_a_session_that_ended_expire(keeper):
    job = run(keeper, {"ann": "draw"})
    client = keeper.runtime.store.client
    assert client.pttl(attachments_key(job.id)) == -1  # until the archive has them
    archive_now(keeper, job)
    assert client.pttl(attachments_key(job.id)) > 0


def test_a_continued_session_reads_the_files_before_it(keeper):
    first = run(keeper, {"ann": "draw", "bob": "hand_on"})
    second = first.continue_with("And now?", agents={"ann": "count_bytes", "bob": "hand_on"})
    keeper.work()
    assert texts(second)[1] == "turn-1.png=10241"
    assert second.attachment_data("turn-1.png") == PICTURE + b"1"
    third = second.continue_with("And then?", agents={"ann": "count_bytes"})
    archive_now(keeper, first, second)
    lose(keeper, first, second)
    keeper.work()
    assert "turn-1.png=10241" in texts(third)


def test_archived_files_are_read_and_pruned(keeper):
    jobs = [run(keeper, {"ann": "draw"}) for _ in range(2)]
    archive_now(keeper, *jobs)
    lose(keeper, *jobs)
    archive = keeper.runtime.ports.archiver.target
    for job in jobs:
        archived = keeper.client.get_job(job.id)
        assert not archived.is_live
        assert [it.name for it in archived.attachments()] == ["turn-1.png"]
        assert archived.attachment_data("turn-1.png") == PICTURE + b"1"
    assert blobs(keeper) == 1
    rows = [it.row for it in archive.pruner.find()]
    archive.pruner.delete(rows[:1])
    archive.pruner.delete_unused_attachments()
    assert keeper.client.get_job(jobs[1].id).attachment_data("turn-1.png") == PICTURE + b"1"
    archive.pruner.delete(rows[1:])
    prune(archive, keeper.runtime.store.client, dry_run=True)
    assert blobs(keeper) == 1
    prune(archive, keeper.runtime.store.client)
    assert blobs(keeper) == 0


def test_unused_files_are_pruned_in_batches(keeper):
    job = keeper.submit("round_robin", {"ann": "hand_on"}, **ONCE, attachments=files("a", "b", "c"))
    keeper.deliver()
    archive_now(keeper, job)
    lose(keeper, job)
    archive = keeper.runtime.ports.archiver.target
    archive.pruner.delete([it.row for it in archive.pruner.find()])
    assert blobs(keeper) == 3
    archive.pruner.delete_unused_attachments(limit=2)
    assert blobs(keeper) == 0


def test_restored_sessions_have_their_files(keeper):
    job = keeper.submit("round_robin", {"ann": "draw", "bob": "count_bytes"}, **ONCE)
    keeper.deliver()
    keeper.deliver()
    archive_now(keeper, job)
    lose(keeper, job)
    client = keeper.runtime.store.client
    keeper.queue.waiting.clear()
    keeper.client.restore(job.id)
    assert client.pttl(attachments_key(job.id)) == -1
    keeper.sweep_until(job, lambda: len(texts(job)) == 2)
    assert texts(job)[1] == "turn-1.png=10241"


def test_posted_files_that_wait_are_archived(keeper):
    job = keeper.submit("round_robin", {"ann": "count_bytes"}, **ONCE)
    keeper.deliver()
    job.suspend()
    job.post("More.", attachments=[Attachment.of("late.txt", "late")])
    archive_now(keeper, job)
    lose(keeper, job)
    keeper.queue.waiting.clear()
    keeper.client.restore(job.id).resume()
    keeper.sweep_until(job, lambda: len(texts(job)) == 2)
    assert job.attachment_data("late.txt") == b"late"


def test_archiving_again_reads_no_file_again(keeper, monkeypatch):
    job = keeper.submit("round_robin", {"ann": "draw", "bob": "draw"}, **ONCE)
    keeper.deliver()
    keeper.deliver()
    archive_now(keeper, job)
    read = []
    store = keeper.runtime.ports.archiver._attachments
    kept = type(store).read
    monkeypatch.setattr(type(store), "read", lambda *args: read.append(args[2]) or kept(*args))
    keeper.work()
    archive_now(keeper, job)
    assert read == [job.attachments()[1].sha256]

"""The archive of an earlier release is read, restored, continued and pruned."""

from __future__ import annotations

import json
from collections.abc import Mapping
from pathlib import Path

import pytest
from redis import Redis

from live import result_of
from symposia.archive.archive import REVISION, revision_of
from symposia.archive.sessions.reader import ArchiveReader
from symposia.client.pruning import prune
from symposia.models.protocol.collab import CollabStatus
from upgrades.installation import UpgradeInstallation, empty_installation
from upgrades.releases import load_release

pytestmark = [pytest.mark.long, pytest.mark.timeout(180)]

Ids = Mapping[str, str]


@pytest.fixture(scope="module")
def ids(installation: UpgradeInstallation, release: str) -> Ids:
    """Load the archive of the release beside an empty Redis, and start a worker, which upgrades it."""
    ids = load_release(installation, release, live=False)
    installation.start_worker()
    return ids


@pytest.fixture
def reader(installation: UpgradeInstallation, ids: Ids) -> ArchiveReader:
    assert installation.client.archive is not None
    installation.client.archive.prepare()
    reader = installation.client.archived()
    assert reader is not None
    return reader


def test_archive_of_an_earlier_release_is_upgraded(
    installation: UpgradeInstallation, reader: ArchiveReader
) -> None:
    assert installation.client.archive is not None
    with installation.client.archive.database.reading() as connection:
        assert revision_of(connection) == REVISION


def test_archived_sessions_are_listed_and_shown(
    installation: UpgradeInstallation, reader: ArchiveReader, ids: Ids
) -> None:
    listed = {it.session_id: json.loads(it.documents.collab)["title"] for it in reader.page(limit=50).items}
    assert {ids[name]: name for name in ("ended", "typed", "failed", "question")}.items() <= listed.items()
    result = installation.client.get_job(ids["ended"]).result()
    assert (result.reason, len(result.dialog.messages)) == ("max_turns", 2)
    assert list(installation.client.get_job(ids["typed"]).result().output) == ["nonce"]
    assert installation.client.get_job(ids["failed"]).status() is CollabStatus.CANCELLED


def test_archived_messages_are_found(reader: ArchiveReader, ids: Ids) -> None:
    found = reader.search("ann speaks turn").items
    assert ids["question"] in {it.session_id for it in found}


def test_archived_attachment_is_read(reader: ArchiveReader, ids: Ids) -> None:
    (digest,) = reader.attachments(ids["ended"])
    assert b"\x00" in (reader.attachment(ids["ended"], digest) or b"")


def test_lost_session_of_an_earlier_release_is_restored(installation: UpgradeInstallation, ids: Ids) -> None:
    job = installation.client.restore(ids["question"])
    installation.open_gate("question")
    job.reply("ben", "It is blue.")
    said = [it.content for it in result_of(job).dialog.messages if it.turn_number]
    assert said == ["ann speaks in turn 1", "It is blue.", "ann speaks in turn 3"]


def test_session_continues_an_archived_one(installation: UpgradeInstallation, ids: Ids) -> None:
    job = installation.client.submit(continues=ids["ended"], stop={"max_turns": 1})
    assert len([it for it in result_of(job).dialog.messages if it.turn_number]) == 1


def test_archive_of_an_earlier_release_is_pruned(tmp_path: Path, release: str) -> None:
    with empty_installation(tmp_path) as installation:
        ids = load_release(installation, release, live=False)
        archive, reader = installation.client.archive, installation.client.archived()
        assert archive is not None
        assert reader is not None
        with Redis.from_url(installation.redis_url, decode_responses=True) as client:
            prune(archive, client, before_ms=reader.session(ids["ended"]).opened_ms + 3_600_000)
        assert not reader.page(limit=50).items
        assert not reader.search("ann speaks turn").items

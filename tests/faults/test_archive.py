"""The checker reads the archive, too, and finds what is not as it was live."""

from __future__ import annotations

import sqlite3
from contextlib import closing
from random import Random

import pytest

from chaos.audit.archived import FILE, differences
from chaos.audit.evidence import Evidence
from chaos.faults.redis import archive_locked
from chaos.faults.workers import kill_at
from chaos.plays import orchestrated
from symposia.archive.archive import Archive
from symposia.models.sessions.archived import ArchivePage, ArchiveProgress
from symposia.state.sessions.archiving import SnapshotReader
from symposia.tasks.runtime.runtime import Boundary
from symposia.workspace.sql.store import deliver_to_conversation

pytestmark = [pytest.mark.xdist_group("faults-of-redis"), pytest.mark.timeout(180), pytest.mark.long]


@pytest.fixture(scope="module")
def archived(arena, tmp_path_factory):
    """An ended session in its own archive: the live data and the database."""
    play = orchestrated(Random(8))
    outcome = arena.run([play])
    assert not outcome.findings
    file = tmp_path_factory.mktemp("archive") / FILE
    archive = Archive(f"sqlite:///{file}", deliver_to_conversation)
    archive.prepare()
    reader = SnapshotReader(arena.server.client)

    def read_on(since: ArchiveProgress) -> ArchivePage:
        page = reader.read_page(play.id, since).page
        assert page is not None
        return page

    # Not by an archiver: it would tell the server that the session is archived, and let it expire,
    # before the arena's own archive has it.
    archive.writer.write(read_on(ArchiveProgress()), read_on)
    archive.close()
    # Read now: the journal may have been told of a late writer since the session was audited.
    return Evidence(arena.server.client, play.id), file


def test_archive_matches_the_live_session(archived):
    evidence, file = archived
    assert not differences(file, evidence)


@pytest.mark.parametrize(
    "change",
    [
        "DELETE FROM message WHERE seq = (SELECT min(seq) FROM message)",
        "UPDATE message SET content = 'other words'",
        "UPDATE collab SET cost_micros = cost_micros + 1",
        "UPDATE collab SET status = 'active'",
        "DELETE FROM map_event WHERE event_type = 'MAPSessionCompleted'",
        "DELETE FROM collab_event",
        "DELETE FROM collab",
    ],
)
def test_checker_finds_changes_of_the_archive(archived, tmp_path, change):
    evidence, file = archived
    changed = tmp_path / FILE
    changed.write_bytes(file.read_bytes())
    with closing(sqlite3.connect(changed)) as sql:
        sql.execute(change)
        sql.commit()
    assert differences(changed, evidence)


def test_sessions_do_not_wait_for_a_locked_archive(survives):
    survives(archive_locked)


def test_archive_matches_live_sessions_after_faults(arena, survives):
    survives(archive_locked, kill_at(Boundary.BEFORE_COMMIT))
    assert not arena.archived()

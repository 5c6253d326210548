"""Archivers that are killed at any statement: in the end the archive has what is live, message for message."""

from __future__ import annotations

import json
from pathlib import Path
from typing import Any

import pytest
from hypothesis import HealthCheck, given, settings
from hypothesis import strategies as st
from redis import Redis

from scaling import scaled_examples
from servers.postgres import own_database
from sessions.archiving import NOTHING, archive_now, archived, archiver, killed_at, live
from sessions.table import Table
from sessions.task_room import ANN, CYD, TaskRoom
from symposia.archive.archive import Archive
from symposia.state.redis.connect import connect
from symposia.state.redis.keys import session_key
from symposia.state.sessions.index import SessionIndex
from symposia.workspace.sql.store import deliver_to_conversation

pytestmark = [pytest.mark.leaves_keys, pytest.mark.timeout(240)]  # a machine that is loaded takes its time

BOB = "bob"
#: More statements than archiving a session takes, so that some archivers live.
STATEMENTS = 26
MOVES = st.lists(st.one_of(st.just("speak"), st.integers(1, STATEMENTS)), min_size=1, max_size=8)


def archive_until_killed(step: int, archive: Archive, table: Table) -> None:
    with connect(table.client.url) as mortal, killed_at(step, archive, mortal):
        known = archive.writer.progress([table.id])
        archiver(archive, mortal).archive(table.id, known.get(table.id, NOTHING))


def play(client: Redis, archive: Archive, moves: list[Any], *, ends: bool) -> None:
    """A session that writes into a conversation is archived again and again, by archivers that are killed."""
    room = TaskRoom(archive)
    conversation = room.conversation(ANN, BOB, CYD, task=room.task(BOB, CYD))
    table = Table(client, opened=False)
    SessionIndex(client).add_session(table.id, look_in_ms=0, archive_in_ms=0)
    table.open(spec=json.dumps({"conversation": conversation.id}), archived=True)
    for number, move in enumerate(moves):
        if move == "speak":
            table.speak(table.plan_one(), f"text {number}", "and more")
        else:
            archive_until_killed(move, archive, table)
            kept = archived_of(archive, table.id)
            assert {name: live(client, table.id)[name][: len(kept[name])] for name in kept} == kept
            assert len(room.said(conversation)) == len(kept.get("dialog", ())), (
                "what is archived is delivered"
            )
    if ends:
        table.finish()
        for step in range(1, STATEMENTS):
            assert client.ttl(session_key(table.id, "session")) != -2
            archive_until_killed(step, archive, table)
    archive_now(archive, table)
    assert archived(archive, table.id) == live(client, table.id)
    assert room.said(conversation) == table.texts()
    assert (client.ttl(session_key(table.id, "session")) > 0) == ends


def archived_of(archive: Archive, session_id: str) -> dict[str, list[Any]]:
    return archived(archive, session_id) if archive.writer.progress([session_id]) else {}


@settings(max_examples=scaled_examples(20), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=MOVES, ends=st.booleans())
def test_killed_archiver_on_sqlite_loses_nothing(
    redis_url: str, tmp_path: Path, moves: list[Any], ends: bool
) -> None:
    archive = Archive(f"sqlite:///{tmp_path / 'archive.sqlite3'}", deliver_to_conversation)
    archive.prepare()
    with connect(redis_url) as client:
        play(client, archive, moves, ends=ends)
    archive.close()


@pytest.mark.long
@settings(max_examples=scaled_examples(8), suppress_health_check=[HealthCheck.function_scoped_fixture])
@given(moves=MOVES, ends=st.booleans())
def test_killed_archiver_on_postgresql_loses_nothing(
    redis_url: str, postgres_url: str, moves: list[Any], ends: bool
) -> None:
    with own_database(postgres_url) as url, connect(redis_url) as client:
        archive = Archive(url, deliver_to_conversation)
        archive.prepare()
        play(client, archive, moves, ends=ends)
        archive.close()

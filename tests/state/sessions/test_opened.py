"""New sessions with their index entries: in two round trips, in an order that a crash at any point respects."""

from __future__ import annotations

from dataclasses import replace
from typing import Any

import pytest
from redis import Redis

from sessions.table import Table
from symposia.models.errors import ScriptError
from symposia.state.redis.keys import ARCHIVE_QUEUE, DUE, LIVE, SESSIONS, session_key
from symposia.state.redis.scripts import load_script
from symposia.state.sessions.index import ORPHAN_MS, SessionIndex
from symposia.state.sessions.opened import open_sessions

HOUR = 3_600_000


class Died(BaseException):
    """The process ended."""


def opening_of(client: Redis) -> Any:
    return Table(client, opened=False).opening()


def entries(client: Redis, session_id: str) -> list[str]:
    """Return the indexes that have the session."""
    return [key for key in (SESSIONS, DUE, ARCHIVE_QUEUE, LIVE) if client.zscore(key, session_id) is not None]


@pytest.mark.parametrize("sent", range(6))
def test_session_that_exists_is_in_the_indexes_wherever_the_client_dies(
    client: Redis, monkeypatch: pytest.MonkeyPatch, sent: int
) -> None:
    """The server has read the first commands only."""
    opening, send, left = opening_of(client), client.send_in_order, sent

    def send_a_part(stages: Any) -> Any:
        nonlocal left
        answers = send(stages[:left])
        left -= len(answers)
        if len(answers) < len(stages) or not left:
            raise Died
        return answers

    monkeypatch.setattr(client, "send_in_order", send_a_part)
    client.script_load(load_script("sessions/open").text)
    with pytest.raises(Died):
        open_sessions(client, [(opening, HOUR)], archive_in_ms=HOUR)
    session_id = opening.collab.collab_id
    found = entries(client, session_id)
    if client.exists(session_key(session_id, "session")):
        assert found[:3] == [SESSIONS, DUE, ARCHIVE_QUEUE]
    assert found == [SESSIONS, DUE, ARCHIVE_QUEUE, LIVE][: min(sent, 3)] + [LIVE] * (sent == 5)
    monkeypatch.undo()
    (answer,) = open_sessions(client, [(opening, HOUR)], archive_in_ms=HOUR)
    assert answer.word == ("exists" if sent > 3 else "opened")
    assert entries(client, session_id) == [SESSIONS, DUE, ARCHIVE_QUEUE, LIVE]


def test_ended_session_that_is_submitted_again_is_not_counted_again(client: Redis) -> None:
    opening, index = opening_of(client), SessionIndex(client)
    session_id = opening.collab.collab_id
    open_sessions(client, [(opening, HOUR)], archive_in_ms=None)
    Table(client, opened=False).store.cancel(session_id, reason="r", retention_ms=HOUR)
    index.mark_ended(session_id)
    (answer,) = open_sessions(client, [(opening, HOUR)], archive_in_ms=None)
    assert answer.word == "exists"
    assert LIVE not in entries(client, session_id)


def test_expired_session_whose_id_is_used_again_is_listed_anew(client: Redis) -> None:
    opening, index = opening_of(client), SessionIndex(client)
    session_id = opening.collab.collab_id
    now = index.now_ms()
    client.zadd(SESSIONS, {session_id: now - 2 * ORPHAN_MS})
    open_sessions(client, [(opening, HOUR)], archive_in_ms=None)
    listed = client.zscore(SESSIONS, session_id)
    assert listed is not None
    assert listed >= now


def test_failed_script_is_named(client: Redis) -> None:
    opening = opening_of(client)
    session_id = opening.collab.collab_id
    client.set(session_key(session_id, "events"), "of another program", px=60_000)
    with pytest.raises(ScriptError, match=r"'sessions/open' failed: WRONGTYPE"):
        open_sessions(client, [(opening, HOUR), (opening_of(client), HOUR)], archive_in_ms=None)
    assert client.zscore(DUE, session_id) is not None
    client.delete(*(session_key(session_id, name) for name in ("session", "events", "journal")))


def test_many_sessions_are_opened_in_two_round_trips(client: Redis, monkeypatch: pytest.MonkeyPatch) -> None:
    openings = [opening_of(client) for _ in range(50)]
    client.script_load(load_script("sessions/open").text)
    sent, send = [], client.send_in_order
    monkeypatch.setattr(client, "send_in_order", lambda stages: (sent.append(1), send(stages))[1])
    monkeypatch.setattr(client, "evalsha", lambda *_: pytest.fail("a round trip of its own"))
    answers = open_sessions(client, [(one, HOUR) for one in openings], archive_in_ms=None)
    assert ([it.word for it in answers], len(sent)) == (["opened"] * 50, 2)
    assert client.zcard(DUE) == 50 == client.zcard(LIVE)


@pytest.mark.parametrize("key", [SESSIONS, DUE, ARCHIVE_QUEUE])
def test_error_of_an_index_leaves_no_session(client: Redis, key: str) -> None:
    client.set(key, "not an index")
    opening = opening_of(client)
    with pytest.raises(ScriptError):
        open_sessions(client, [(opening, HOUR)], archive_in_ms=HOUR)
    assert not client.exists(session_key(opening.collab.collab_id, "session"))
    client.delete(key)


def test_conflict_leaves_the_session_in_its_place_in_the_list(client: Redis) -> None:
    opening = opening_of(client)
    session_id = opening.collab.collab_id
    open_sessions(client, [(opening, HOUR)], archive_in_ms=None)
    client.zincrby(SESSIONS, -2 * ORPHAN_MS, session_id)
    listed = client.zscore(SESSIONS, session_id)
    (answer,) = open_sessions(client, [(replace(opening, digest="another"), HOUR)], archive_in_ms=None)
    assert answer.word == "conflict"
    assert client.zscore(SESSIONS, session_id) == listed

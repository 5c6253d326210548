"""The archive on the command line, with real workers: what ran is listed, shown and found when Redis has lost it."""

from __future__ import annotations

from collections.abc import Iterator
from pathlib import Path

import pytest
from redis import Redis

from live import REGISTRY, LiveWorker, until
from processes.terminal import Terminal
from servers.ports import HOST
from servers.postgres import Postgres
from symposia.client.embedded import EmbeddedServer
from symposia.client.processes import free_port
from symposia.state.presence import WorkerPresence
from symposia.state.redis.connect import connect

PAIR = """
title: A line above the door
purpose: Write one line that stands above the door.
mode: pair
participants:
  - {participant_id: ann, agent: echo}
  - {participant_id: bob, agent: echo}
stop: {max_rounds: 2}
"""


def archiving(folder: Path, redis_url: str, **more: str) -> Terminal:
    """A terminal of an installation with an archive, in a folder with the agents of the tests and a session file."""
    (folder / "registry.toml").write_text(REGISTRY)
    (folder / "pair.yaml").write_text(PAIR)
    settings = {
        "redis_url": redis_url,
        "agents_file": str(folder / "registry.toml"),
        "data_dir": str(folder / "data"),
        "archive": "true",
        "archive_interval_s": "0.2",
        **more,
    }
    return Terminal(folder, settings)


@pytest.fixture(scope="module")
def terminal_and_redis(tmp_path_factory: pytest.TempPathFactory) -> Iterator[tuple[Terminal, Redis]]:
    """A terminal, a worker that archives into a SQLite file, and their Redis."""
    folder = tmp_path_factory.mktemp("archive")
    with EmbeddedServer(folder / "server", durable=False, bound=True) as server:
        terminal = archiving(folder, server.url)
        worker = LiveWorker("w1", folder, terminal.environment, app="symposia.workers", concurrency=4)
        client = connect(server.url)
        until(lambda: WorkerPresence(client).list_alive(), timeout_s=50, what="a worker is there")
        yield terminal, client
        worker.close()
        terminal.close()


def ran(terminal_and_redis: tuple[Terminal, Redis]) -> str:
    """The id of a session that has ended and whose live keys may expire."""
    terminal, client = terminal_and_redis
    said = terminal.call("run", "pair.yaml", "--json")
    assert said.code == 0, said
    session_id = terminal.call("list", "--json", "--limit", "1").json()[0]["id"]
    key = f"symposia:{{{session_id}}}:session"
    until(lambda: client.ttl(key) > 0, timeout_s=40, what="the archive has it")
    return str(session_id)


@pytest.mark.long
def test_archived_session_is_readable_without_redis(
    terminal_and_redis: tuple[Terminal, Redis],
) -> None:
    terminal, client = terminal_and_redis
    session_id = ran(terminal_and_redis)
    commands = (
        ["show", session_id, "--json"],
        ["export", session_id],
        ["export", session_id, "--format", "map-events"],
        ["list", "--json"],
    )
    before = [terminal.call(*command).json() for command in commands]
    watched = terminal.call("watch", session_id, "--json").out
    client.flushall()
    assert [terminal.call(*command).json() for command in commands] == before
    assert terminal.call("watch", session_id, "--json").out == watched
    found = terminal.call("search", "ann", "--json").json()
    assert {it["id"] for it in found["messages"]} <= {session_id}
    for command in (["cancel"], ["suspend"], ["stop"], ["post", "hello"]):
        said = terminal.call(command[0], session_id, *command[1:])
        assert said.code == 3, said
        assert f"session '{session_id}' has already ended (completed) and cannot be changed" in said.err
    said = terminal.call("restore", session_id)
    assert (said.code, "it is completed" in said.err) == (2, True), said


@pytest.mark.long
def test_archived_sessions_are_read_without_redis(
    terminal_and_redis: tuple[Terminal, Redis], tmp_path: Path
) -> None:
    terminal, _ = terminal_and_redis
    session_id = ran(terminal_and_redis)
    commands = (
        *(["show", session_id[:8], "--json"], ["watch", session_id]),
        *(["export", session_id], ["graph", session_id]),
    )
    before = [terminal.call(*command).out for command in commands]
    away = {"redis_url": f"redis://127.0.0.1:{free_port(HOST)}/0"}
    # A folder of its own: `close` ends all that works in it, and the server works in the other one.
    lonely = Terminal(tmp_path, {**terminal.settings, **away})
    assert [lonely.call(*command).out for command in commands] == before
    listed = lonely.call("list", "--json")
    assert session_id in [it["id"] for it in listed.json()]
    assert "listing only archived sessions that have ended" in listed.err
    assert lonely.call("show", "00000000").code == 4
    lonely.close()


def test_old_sessions_are_pruned_after_a_rehearsal(terminal_and_redis: tuple[Terminal, Redis]) -> None:
    terminal, client = terminal_and_redis
    ran(terminal_and_redis)
    client.flushall()
    assert terminal.call("prune", "--older-than", "1h", "--json").json()["sessions"] == 0
    said = terminal.call("prune", "--older-than", "soon")
    assert (said.code, said.err.strip()) == (
        2,
        "symposia: --older-than: must be a positive number with a unit, such as 30m, 36h, 90d or 12w (got 'soon')",
    )
    assert terminal.call("prune").code == 2
    assert terminal.call("prune", "--user", "nobody", "--dry-run").out.strip() == (
        "Would delete 0 sessions with 0 messages."
    )


@pytest.mark.timeout(200)
@pytest.mark.long
def test_database_outage_delays_only_archiving(postgres: Postgres, tmp_path: Path) -> None:
    with EmbeddedServer(tmp_path / "server", durable=False, bound=True) as server:
        terminal = archiving(tmp_path, server.url, database_url=postgres.url)
        postgres.stop()
        worker = LiveWorker("w1", tmp_path, terminal.environment, app="symposia.workers", concurrency=4)
        client = connect(server.url)
        try:
            until(lambda: WorkerPresence(client).list_alive(), timeout_s=50, what="a worker is there")
            assert terminal.call("run", "pair.yaml", "--json").code == 0
            told = terminal.call("doctor", "--json").json()["findings"]
            assert any(it["subject"] == "archive" and "does not answer" in it["text"] for it in told)
            (key,) = client.scan_iter("symposia:*:session")
            assert client.ttl(key) == -1
            postgres.start()
            until(lambda: client.ttl(key) > 0, timeout_s=100, what="the archive has it")
        finally:
            worker.close()
            terminal.close()
            if not postgres.runs:
                postgres.start()

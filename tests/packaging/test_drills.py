"""Disaster drills of docs/deploying-operations.md, with the commands of the page."""

from __future__ import annotations

import shutil
import subprocess
import time
from collections.abc import Iterator
from contextlib import ExitStack
from pathlib import Path

import pytest
from redis import Redis

from live import LiveWorker, until
from processes.terminal import Terminal
from programs import find_program
from servers.own_server import own_server
from symposia.config.settings import child_environment, load_settings
from symposia.state.redis.keys import ARCHIVE_QUEUE

URL = "redis://127.0.0.1:{port}/0"
PAGE = (Path(__file__).parents[2] / "docs/deploying-operations.md").read_text()


@pytest.fixture
def stack(monkeypatch: pytest.MonkeyPatch) -> Iterator[ExitStack]:
    """Ends what a test has started. The archive is on."""
    monkeypatch.setenv("SYMPOSIA_ARCHIVE", "true")
    monkeypatch.setenv("SYMPOSIA_ARCHIVE_INTERVAL_S", "0.2")
    with ExitStack() as stack:
        yield stack


def start(folder: Path, url: str, stack: ExitStack, *, name: str) -> tuple[Terminal, LiveWorker]:
    """A project as of `symposia init`, its command line and a worker."""
    settings = {"redis_url": url, "data_dir": str(folder / "data"), "sweep_interval_s": "0.2"}
    project = Path(shutil.copytree(Path(__file__).parents[2] / "examples/starter", folder / name))
    terminal = Terminal(project, settings)
    stack.callback(terminal.close)
    environment = child_environment(load_settings(**settings, agents_file=project / "agents.toml"))
    worker = LiveWorker(name, project, environment, app="symposia.workers", concurrency=2)
    stack.callback(worker.close)
    return terminal, worker.wait_ready()


def ask(terminal: Terminal) -> str:
    """The id of a session that waits for a person."""
    terminal.call("submit", "session.yaml")
    (asked,) = until(lambda: terminal.call("inbox", "--json").json(), what="a question")
    return str(asked["session_id"])


def answer(terminal: Terminal, session: str) -> None:
    until(lambda: terminal.call("inbox", "--json").json(), what="the question is back")
    assert terminal.call("reply", session, "you", "Thanks.").code == 0
    until(lambda: terminal.call("show", session, "--json").json()["status"] == "completed", what="its end")


@pytest.mark.long
@pytest.mark.timeout(180)
def test_lost_redis_is_restored_from_the_archive(tmp_path: Path, stack: ExitStack) -> None:
    assert "symposia list --status active\n$ symposia restore" in PAGE
    url = stack.enter_context(own_server(tmp_path, url=URL))
    terminal, _ = start(tmp_path, url, stack, name="project")
    session = ask(terminal)
    listed = ("list", "--status", "active", "--json")
    with Redis.from_url(url) as admin:
        until(lambda: is_archived(admin, session), what="the question is archived")
        admin.flushall()
    assert session in terminal.call(*listed).out
    assert terminal.call("restore", session).code == 0
    answer(terminal, session)


def is_archived(admin: Redis, session: str) -> bool:
    """Whether nothing is pending: a session whose turns are all parked is checked again after an hour."""
    next_ms = admin.zscore(ARCHIVE_QUEUE, session)
    return next_ms is not None and next_ms > (time.time() + 600) * 1000


@pytest.mark.long
@pytest.mark.timeout(180)
def test_backup_of_redis_continues_on_a_new_server(tmp_path: Path, stack: ExitStack) -> None:
    redis_cli = find_program("redis-cli")
    (old := tmp_path / "old").mkdir()
    (new := tmp_path / "new").mkdir()
    with own_server(old, "appendonly yes", url=URL) as url:
        terminal, worker = start(tmp_path, url, stack, name="before")
        session = ask(terminal)
        worker.close()
        assert "redis-cli --rdb" in PAGE
        command = [redis_cli, "-u", url, "--rdb", str(new / "dump.rdb")]
        subprocess.run(command, check=True, capture_output=True)
    url = stack.enter_context(own_server(new, "appendonly no", url=URL))
    with Redis.from_url(url) as admin:
        admin.config_set("appendonly", "yes")
        until(lambda: admin.info("persistence")["aof_enabled"], what="the append-only file")
    terminal, _ = start(tmp_path, url, stack, name="after")
    answer(terminal, session)

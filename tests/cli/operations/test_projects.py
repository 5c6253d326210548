"""Without a configured Redis, each project uses its own embedded server, and never another Redis."""

from __future__ import annotations

import socket
import subprocess
import sys
from collections.abc import Callable, Iterator
from pathlib import Path

import pytest

from processes.terminal import Terminal
from scaling import patient
from symposia import Client
from symposia.client.embedded import EmbeddedServer
from symposia.config.settings import load_settings
from symposia.models.errors import NoRedis

UP = ("up", "--no-flower", "--no-beat", "--no-local-model", "--workers", "1")
CURE = "is not running: start it with `symposia up`, or set redis_url (SYMPOSIA_REDIS_URL)\n"


def no_redis(folder: Path) -> str:
    return f"no Redis is configured, and the embedded server of {folder} {CURE}"


SESSION = (
    "{title: T, purpose: P, mode: round_robin, participants: [{participant_id: NAME}], stop: {max_turns: 1}}"
)


@pytest.fixture
def project(tmp_path: Path, monkeypatch: pytest.MonkeyPatch) -> Iterator[Callable[[str], Terminal]]:
    """Makes a project with one agent of its name."""
    monkeypatch.setenv("XDG_DATA_HOME", str(tmp_path / "share"))
    opened: list[Terminal] = []

    def make(name: str) -> Terminal:
        folder = tmp_path / name
        folder.mkdir()
        (folder / "agents.toml").write_text(
            f"[agents.{name}]\nkind = 'scripted'\nreplies = ['I am {name}.']\n"
        )
        (folder / "session.yaml").write_text(SESSION.replace("NAME", name))
        opened.append(Terminal(folder, {"data_dir": "", "sweep_interval_s": "0.2"}))
        return opened[-1]

    yield make
    for it in opened:
        it.close()


@pytest.mark.long
@pytest.mark.timeout(180)
def test_two_projects_run_their_own_sessions(project) -> None:
    both = {name: project(name) for name in ("alpha", "beta")}
    # With Flower: the second one takes another port.
    with_flower = [it for it in UP if it != "--no-flower"]
    running = [terminal.start(*with_flower) for terminal in both.values()]
    for it in running:
        it.until("up       | ready", timeout_s=60)
    for name, terminal in both.items():
        said = terminal.call("run", "session.yaml")
        assert (said.code, said.using) == (0, f"using the embedded server of {terminal.folder}\n")
        assert f"I am {name}." in said.out
        assert len(terminal.call("list", "--json").json()) == 1
        report = terminal.call("doctor")
        assert f"from the embedded server of {terminal.folder}\n" in report.out
        assert report.code == 0, report
        assert report.out.count("worker1@") == 1, report.out
    for it in running:
        assert it.interrupt().ended().code == 0


def test_no_other_redis_is_used(project) -> None:
    terminal = project("alpha")
    with socket.socket() as stranger:  # on the usual port of Redis
        stranger.setsockopt(socket.SOL_SOCKET, socket.SO_REUSEADDR, 1)
        try:
            stranger.bind(("127.0.0.1", 6379))
        except OSError:
            pytest.skip("port 6379 is in use")
        stranger.listen()
        stranger.setblocking(False)
        for command in ("submit session.yaml", "list", "suspend 12345678", "worker", "beat", "flower"):
            said = terminal.call(*command.split())
            assert (said.code, said.err) == (4, f"symposia: {no_redis(terminal.folder)}")
        with pytest.raises(BlockingIOError):
            stranger.accept()


def test_celery_names_the_cure_in_one_line(project) -> None:
    terminal = project("alpha")
    program = "import sys; sys.argv[0] = 'celery'; from celery.__main__ import main; main()"
    ended = subprocess.run(
        [sys.executable, "-c", program, "-A", "symposia.workers", "worker"],
        env=terminal.environment,
        cwd=terminal.folder,
        capture_output=True,
        text=True,
        timeout=patient(50),
        check=False,
    )
    assert (ended.returncode, ended.stderr) == (1, f"symposia: {no_redis(terminal.folder)}")


def test_client_uses_the_server_that_starts_later(project, monkeypatch: pytest.MonkeyPatch) -> None:
    terminal = project("alpha")
    monkeypatch.chdir(terminal.folder)
    monkeypatch.delenv("SYMPOSIA_DATA_DIR")
    with Client() as client:
        with pytest.raises(NoRedis, match=str(terminal.folder)):
            client.jobs()
        with EmbeddedServer(load_settings().data_dir, durable=False, bound=True) as server:
            assert client.jobs() == []
            assert client.redis_url == server.url


def test_shared_option_is_taken_after_the_command(project) -> None:
    said = project("alpha").call("config", "--changed", "--shared", "--json").json()["settings"]
    assert [(it["name"], it["source"]) for it in said if it["name"] == "shared"] == [("shared", "--shared")]
    assert "shared" not in project("beta").call("config", "--changed").out.lower()


def test_commands_that_write_name_the_server_once(bare: Terminal, pair_file, redis_url: str) -> None:
    (bare.folder / "symposia.toml").write_text(f"redis_url = '{redis_url}'\n")
    said = bare.call("submit", pair_file)
    shown = f"redis://:***@{redis_url.rpartition('@')[2]}"
    assert said.using == f"using {shown} from {bare.folder / 'symposia.toml'}\n"
    for others in (("submit", pair_file, "--json"), ("submit", pair_file, "--quiet"), ("list",)):
        assert bare.call(*others).using == ""


def test_doctor_names_data_that_this_project_does_not_use(project, tmp_path: Path) -> None:
    terminal = project("alpha")
    shared = tmp_path / "share" / "symposia"
    for name in ("old", "alpha"):
        data = shared / "projects" / f"{name}-0123456789"
        data.mkdir(parents=True)
        (data / "project").write_text(f"{tmp_path / name}\n")
    (shared / "archive.sqlite3").touch()
    said = terminal.call("doctor").out.replace("\n", " ")
    said = " ".join(said.split())
    assert f"installation that projects shared are in {shared}" in said
    assert f"the data of {tmp_path / 'old'}, which does not exist any more" in said
    assert said.count("does not exist any more") == 1
